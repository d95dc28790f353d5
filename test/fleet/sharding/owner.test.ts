import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FleetError } from '../../../src/fleet/index.ts';
import { shared, startReplicas } from '../../fixtures/replicas.ts';
import { until } from '../../fixtures/until.ts';

describe('what a replica says about a shard while the hub is away', () => {
  test('is that it is lost, and then that it has no owner: there is no hand-over to itself', async (t) => {
    const { hub, start } = await startReplicas(t, 4);
    const one = start('one');
    one.run();
    await shared(t, 4, one);
    const reasons: unknown[] = [];
    for (const { name } of one.fleet.list()) {
      const { signal } = one.fleet.get(name);
      signal.addEventListener('abort', () => reasons.push(Reflect.get(signal.reason, 'reason')));
    }
    hub.failNext(503, 1_000_000, ({ url }) => url.includes('/leases'));
    const said = new Set<string>();
    await one.passUntil(() => {
      const listed = one.fleet.list();
      for (const { state, reason, message } of listed) if (state !== 'Engaged') said.add(`${reason}: ${message}`);
      return listed.every(({ reason }) => reason === 'NO_OWNER');
    });
    assert.deepEqual(reasons, Array(4).fill('SHARD_LOST'));
    const lines = [...said].filter((line) => !line.startsWith('SHARD_LOST: '));
    const noOwner = /^NO_OWNER: its shard \d has no owner at the moment: (.*)$/;
    const why = 'this replica has not written its own Lease in time, or not yet';
    assert.deepEqual(new Set(lines.map((line) => noOwner.exec(line)?.[1] ?? line)), new Set([why]));
  });

  test('is the same before any timer has run: the process may have been stopped', async (t) => {
    const { publish, spoke, start } = await startReplicas(t, 1);
    const { clock, fleet, run } = start('one', { shards: 1 });
    let stopped = 0;
    const uptime = clock.uptime.bind(clock);
    clock.uptime = () => uptime() + stopped;
    run();
    await until(t, () => fleet.list()[0]?.state === 'Engaged');
    const { signal } = fleet.get('fleet/c0');
    stopped = 20_000;
    publish('c0', spoke, { heartbeat: 'later' });
    await until(t, () => signal.aborted);
    assert.ok(signal.reason instanceof FleetError);
    assert.equal(signal.reason.reason, 'SHARD_LOST');
  });
});
