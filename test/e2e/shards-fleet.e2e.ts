import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CoordinationV1Api } from '@kubernetes/client-node';
import { ApiServer } from '../../src/rest/api/api-server.ts';
import { readBeginning } from '../../src/util/printable.ts';
import { print, shellPlugin } from '../fixtures/script.ts';
import { startHub } from './crd.ts';
import { adminFile, adminOf, lifetimeOf } from './fixture.ts';
import { startCrew } from './shards/replica.ts';
import { areServed, callsBetween, gapsOf, overlapOf, publishAll, startSpokes } from './shards/spokes.ts';
import { soon } from './soon.ts';

const clusters = 200;
const shards = 64;
const durationMs = 6_000;
const deadlineMs = (durationMs * 2) / 3;
const renewMs = durationMs / 4;
const monotonic = () => Number(process.hrtime.bigint()) / 1e6;

test('five replicas share 200 clusters: never do two call one, whatever is killed, stopped, updated or away', async (t) => {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  const kubeconfig = await adminFile(t, hub);
  const admin = adminOf(life, hub);
  const { command } = await shellPlugin(t, `(${print({ token: 'T' })}\n) | sed s/T/$REPLICA/`);
  const names = Array.from({ length: 30 }, (_, index) => `replica-${index}`);
  const spokes = await startSpokes(life, clusters, names);
  await publishAll(hub, spokes.addresses);

  const { all, living, first, start, end, check } = startCrew(life, { kubeconfig, command, durationMs }, 'clusters');
  const until = (what: string, holds: () => boolean | Promise<boolean>) => soon(what, () => check() ?? holds(), told);
  const shares = () => [...living].map(({ owned }) => owned.size);
  const told = () => {
    const histories = all.map(({ identity, events, warnings }) => {
      const changes = Object.entries(Object.groupBy(events, ({ change }) => change));
      const counts = changes.map(([change, list]) => `${list.length} ${change}`).join(', ');
      return `${identity}: ${counts}; ${warnings.length} warnings, the last: ${warnings.at(-1)}`;
    });
    return `shards ${shares()}\n${histories.join('\n')}`;
  };
  const areShared = () => {
    const owned = [...living].flatMap((replica) => [...replica.owned]);
    return (
      new Set(owned).size === shards && owned.length === shards && Math.max(...shares()) - Math.min(...shares()) <= 1
    );
  };
  const settled = async (since: number) => {
    await until('all shards are shared', areShared);
    const identities = () => new Set([...living].map(({ identity }) => identity));
    await until('all clusters are called', async () => areServed(await spokes.records(), since, identities()));
  };
  /** Requests that changed Leases so far. */
  const leaseWrites = async (): Promise<number> => {
    const { body } = await new ApiServer(admin).get('/metrics', { signal: AbortSignal.timeout(10_000) });
    const lines = (await readBeginning(body, 1e8))
      .toString()
      .matchAll(/^apiserver_request_total\{(.*resource="leases".*)\} (\S+)$/gm);
    return [...lines].reduce(
      (sum, [, labels = '', value]) => sum + (/verb="(POST|PUT|PATCH|DELETE)"/.test(labels) ? Number(value) : 0),
      0,
    );
  };
  const phase = async (what: string, act: () => Promise<number | undefined>) => {
    const [since, writes] = [monotonic(), await leaseWrites()];
    const seen = new Map(all.map((replica) => [replica, replica.events.length]));
    const began = (await act()) ?? since;
    await settled(began);
    const seconds = (monotonic() - since) / 1_000;
    const events = all.flatMap((replica) => replica.events.slice(seen.get(replica) ?? 0));
    const taken = events.filter(({ change }) => change === 'taken' || change === 'taken_over');
    const longest = Math.max(0, ...taken.map(({ unownedMs = 0 }) => unownedMs));
    const records = await spokes.records();
    const gaps = gapsOf(records, since);
    const each = ((await leaseWrites()) - writes) / seconds;
    t.diagnostic(
      `${what}: ${taken.length} shards moved, ${(longest / 1_000).toFixed(2)} s without an owner at most; ` +
        `${gaps.length} clusters, ${((gaps.at(-1) ?? 0) / 1_000).toFixed(2)} s between calls at most; ` +
        `${each.toFixed(1)} Lease writes a second for ${seconds.toFixed(0)} s`,
    );
    const overlap = overlapOf(records);
    assert.ok(!overlap, `${what}: ${overlap}`);
    return { taken, each, longest };
  };

  await phase('five replicas start', async () => {
    for (let i = 0; i < 5; i++) start();
    return undefined;
  });
  const quiet = await phase('nothing happens', async () => {
    await pause(3 * renewMs);
    return monotonic();
  });
  // Each replica renews its Lease once in a quarter of its duration, a tenth earlier at most; nothing else is written.
  assert.ok(quiet.each < (5 / (renewMs / 1_000)) * 1.3, `${quiet.each} writes a second while nothing happens`);

  await phase('kill -9 of one', async () => {
    await end('SIGKILL');
    return undefined;
  });
  await phase('another one joins', async () => void start());
  await phase('SIGSTOP of one for longer than a Lease lasts, and SIGCONT', async () => {
    const stopped = first();
    living.delete(stopped);
    stopped.signal('SIGSTOP');
    await settled(monotonic());
    living.add(stopped);
    stopped.signal('SIGCONT');
    // It learns that it has lost them.
    await until('it gives them up', () => stopped.events.some(({ change }) => change === 'lost'));
    return undefined;
  });
  const graceful = await phase('a graceful stop of one', async () => {
    assert.equal((await end('SIGTERM')).owned.size, 0);
    return undefined;
  });
  assert.ok(
    graceful.longest < durationMs,
    'a replica that leaves releases its shards, and the others need not wait until they expire',
  );
  await phase('another one joins', async () => void start());
  await phase('a rolling update of all', async () => {
    for (const old of [...living]) {
      const next = start();
      await until('the new one has shards', () => next.owned.size > 0);
      await end('SIGTERM', old);
    }
    return undefined;
  });
  const away = await phase('the hub is away for less than a third of the duration', async () => {
    const resume = hub.pause();
    await pause(0.9 * (durationMs / 3));
    resume();
    await pause(durationMs);
    return monotonic();
  });
  assert.equal(away.taken.length, 0, 'no shard moves');
  await phase('the hub is away for more than the deadline', async () => {
    const resume = hub.pause();
    const over = monotonic() + deadlineMs;
    await pause(deadlineMs + 3_000);
    const resumed = monotonic();
    resume();
    const late = callsBetween(await spokes.records(), over, resumed);
    assert.equal(late, 0, 'no replica calls a cluster after its deadline');
    return monotonic();
  });
  for (const { signal } of living) signal('SIGTERM');
  await Promise.all(all.map(({ ended }) => ended));
  const { items } = await hub.admin.makeApiClient(CoordinationV1Api).listNamespacedLease({ namespace: 'default' });
  assert.deepEqual(
    items
      .filter(({ spec }) => spec?.holderIdentity)
      .map(({ metadata, spec }) => `${metadata?.name} ${spec?.holderIdentity}`),
    [],
    'every Lease is free or gone',
  );
});
