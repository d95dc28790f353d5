import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiException, CoreV1Api } from '@kubernetes/client-node';
import { startFleet } from '../fixtures/fleet.ts';

/** A cluster that answers 401 as `refuses` says, and a clock that goes on with each request: three in a second. */
async function startFlaky(t: TestContext, refuses: (request: number) => boolean) {
  const clock = { now: Date.UTC(2030, 0) };
  const { cluster, plugin, config } = await startFleet(t, { options: { clock: () => clock.now } });
  const core = config.makeApiClient(CoreV1Api);
  let requests = 0;
  let calm = false;
  cluster.onRequest = () => {
    requests += 1;
    if (!calm && refuses(requests)) cluster.failNext(401);
  };
  /** Lists as often as fits into so many seconds of the clock; gives how many callers saw a 401. */
  const listFor = async (seconds: number) => {
    const until = clock.now + seconds * 1_000;
    let refused = 0;
    while (clock.now < until) {
      clock.now += 1_000 / 3;
      await core.listNamespace().catch((error: unknown) => {
        assert.ok(error instanceof ApiException && error.code === 401, String(error));
        refused += 1;
      });
    }
    return refused;
  };
  const rotate = async (token: string) => {
    calm = true;
    cluster.setTokens({ [token]: 'me' });
    await plugin.answer({ token });
  };
  return { cluster, plugin, core, clock, listFor, rotate };
}

test('a server that refuses good credentials, and is well again, has a rotation followed at once', async (t) => {
  const { plugin, core, clock, listFor, rotate } = await startFlaky(t, (request) => request % 2 === 1);
  await listFor(20);
  clock.now += 60_000;
  const before = await plugin.runs();
  await rotate('token-2');
  await core.listNamespace();
  assert.equal(await plugin.runs(), before + 1);
});

test('a rotation refreshes at once, five times in a row, and again after a pause', async (t) => {
  const { plugin, core, clock, rotate } = await startFlaky(t, () => false);
  for (const round of [1, 2]) {
    for (let i = 0; i < 5; i++) {
      await rotate(`token-${round}-${i}`);
      await core.listNamespace();
    }
    clock.now += 150_000;
  }
  assert.equal(await plugin.runs(), 10);
});
