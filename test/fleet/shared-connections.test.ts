import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ApiServer } from '../../src/fleet/api-server.ts';
import { FakeCluster } from '../../src/testing/index.ts';
import { kubeConfigFor } from '../fixtures/fleet-hub.ts';

/** A hub, a KubeConfig of client-node's for it, and what asks it something. */
async function startHub(t: TestContext, http2: boolean) {
  const hub = await FakeCluster.start({ tokens: { hub: 'me' }, http2 });
  t.after(() => hub.close());
  const config = kubeConfigFor(hub, 'hub');
  const ask = async (server = new ApiServer(config), signal = t.signal) => {
    const { statusCode, body } = await server.get('/version', { signal });
    await body.dump();
    return statusCode;
  };
  return { hub, config, ask };
}

describe("requests to an API server with client-node's KubeConfig", () => {
  test('go over the same connections, whoever sends them', async (t) => {
    for (const [http2, most] of [
      [true, 1],
      // A connection is free a moment after its answer has ended.
      [false, 3],
    ] as const) {
      const { hub, ask } = await startHub(t, http2);
      for (let i = 0; i < 20; i++) assert.equal(await ask(), 200);
      assert.ok(hub.stats.connections <= most, `${hub.stats.connections} connections`);
    }
  });

  test('go over one connection when they are the first, all at once', async (t) => {
    const { hub, ask } = await startHub(t, true);
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    assert.equal(hub.stats.connections, 1);
  });

  test('connect anew after one that had no answer: its connection may be dead', async (t) => {
    const { hub, ask } = await startHub(t, true);
    await ask();
    hub.failNext('hang', 1);
    await assert.rejects(ask(undefined, AbortSignal.timeout(50)));
    await ask();
    await ask();
    assert.equal(hub.stats.connections, 2);
  });

  test('have the newest token and authority of the KubeConfig', async (t) => {
    const { hub, config, ask } = await startHub(t, true);
    const other = await FakeCluster.start({ tokens: { hub: 'me' } });
    t.after(() => other.close());
    await ask();
    config.users = [{ name: 'hub', token: 'old' }];
    assert.equal(await ask(), 401);
    config.users = [{ name: 'hub', token: 'hub' }];
    assert.equal(await ask(), 200);
    assert.equal(hub.stats.connections, 1);
    const { url: server, certificateAuthorityData: caData } = other;
    config.clusters = [{ name: 'hub', server, caData, skipTLSVerify: false }];
    assert.equal(await ask(), 200);
    assert.equal(other.stats.connections, 1);
  });
});
