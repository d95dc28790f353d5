import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { startFleet } from '../fixtures/fleet.ts';

/** A cluster, and a clock that the test moves. */
async function start(t: TestContext) {
  const clock = { now: Date.UTC(2030, 0) };
  const { cluster, plugin, config } = await startFleet(t, { options: { clock: () => clock.now } });
  const rotate = async (token: string) => {
    cluster.setTokens({ [token]: 'me' });
    await plugin.answer({ token });
  };
  return { cluster, plugin, core: config.makeApiClient(CoreV1Api), clock, rotate };
}

test('a server that refuses good credentials, and is well again, has a rotation followed at once', async (t) => {
  const { cluster, plugin, core, clock, rotate } = await start(t);
  let requests = 0;
  cluster.onRequest = () => {
    requests += 1;
    if (requests % 2 === 1) cluster.failNext(401);
  };
  // Three in a second.
  for (let i = 0; i < 60; i++) {
    clock.now += 1_000 / 3;
    await core.listNamespace().catch((error: unknown) => assert.equal(Reflect.get(Object(error), 'code'), 401));
  }
  cluster.onRequest = () => undefined;
  clock.now += 60_000;
  const before = await plugin.runs();
  await rotate('token-2');
  await core.listNamespace();
  assert.equal(await plugin.runs(), before + 1);
});

test('a rotation refreshes at once, five times in a row, and again after a pause', async (t) => {
  const { plugin, core, clock, rotate } = await start(t);
  for (const round of [1, 2]) {
    for (let i = 0; i < 5; i++) {
      await rotate(`token-${round}-${i}`);
      await core.listNamespace();
    }
    clock.now += 150_000;
  }
  assert.equal(await plugin.runs(), 10);
});
