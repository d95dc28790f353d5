import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { request } from 'undici';
import { CredentialsError } from '../../src/index.ts';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { malformed, sendMalformed } from '../fixtures/malformed.ts';
import { statusOf } from '../fixtures/requests.ts';

type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** What a pool may look like when the request comes. */
const states: Readonly<Record<string, (t: TestContext) => Promise<Fleet>>> = {
  'the first on a connection': async (t) => {
    const fleet = await startFleet(t);
    await fleet.config.ready();
    return fleet;
  },
  'the first while the plugin runs': (t) => startFleet(t),
  'one of many on HTTP/2': async (t) => {
    const fleet = await startFleet(t);
    await good(fleet);
    return fleet;
  },
  'one of many on HTTP/1.1': async (t) => {
    const fleet = await startFleet(t, { cluster: { http2: false } });
    await good(fleet);
    return fleet;
  },
  'one on the socket for short requests': async (t) => {
    const fleet = await startFleet(t);
    for (let i = 0; i < 80; i++) await good(fleet);
    return fleet;
  },
};

async function good({ cluster, config }: Fleet): Promise<void> {
  assert.equal(await statusOf(`${cluster.url}/version`, { dispatcher: config.dispatcher }), 200);
}

describe('a malformed request fails alone', () => {
  for (const [state, start] of Object.entries(states)) {
    test(state, async (t) => {
      const { cluster, config } = await start(t);
      const { dispatcher } = config;
      for (const [index, [what, more]] of Object.entries(malformed).entries()) {
        const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher });
        // Twice in a row, and beside good ones.
        const [outcome, again] = await Promise.all([
          sendMalformed(dispatcher, more()),
          sendMalformed(dispatcher, more()),
          statusOf(`${cluster.url}/version`, { dispatcher }),
        ]);
        for (const one of [outcome, again]) {
          const fine = typeof one === 'number' || one instanceof Error;
          assert.ok(fine, `${what}: ${String(one)}`);
          if (one instanceof CredentialsError) assert.match(one.message, /ClusterProfile fleet\/spoke, https:/, what);
        }
        assert.equal(await statusOf(`${cluster.url}/version`, { dispatcher }), 200, what);
        // Two of one name would be refused.
        cluster.add(newNamespace(`still-there-${index}`));
        for await (const chunk of body) if (String(chunk).includes(`still-there-${index}"`)) break;
      }
    });
  }
});
