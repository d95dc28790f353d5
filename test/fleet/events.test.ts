import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type EventRegarding, Events } from '../../src/fleet/events.ts';
import type { ResourceClient } from '../../src/rest/api/resource-client.ts';
import type { TestObject } from '../../src/testing/index.ts';
import { map, startEngaged } from '../fixtures/controllers.ts';
import { newNamespace, startCluster } from '../fixtures/fleet.ts';
import { restConfigFor } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { until } from '../fixtures/until.ts';

const kind = { apiVersion: 'events.k8s.io/v1', kind: 'Event' };
const settings: EventRegarding = map('settings', { namespace: 'team-1', uid: 'u-1' });
const cause = { type: 'Warning', reason: 'SyncFailed', action: 'Sync' } as const;
const failed = { ...cause, note: 'no route', controller: 'settings' } as const;
const minuteMs = 60_000;

/** Events of a cluster, and those that it has got, unless something else takes them. */
async function startEvents(t: TestContext, taker?: Pick<ResourceClient, 'create' | 'patch'>) {
  const cluster = await startCluster(t);
  cluster.add(newNamespace('team-1'));
  const config = restConfigFor(cluster, 'token-1');
  const clock = new ManualClock();
  const end = new AbortController();
  const warnings: string[] = [];
  t.after(async () => {
    end.abort();
    await config.close();
  });
  const events = new Events({
    context: { clock, fields: {}, logger: { warn: (_, message) => warnings.push(message) } },
    signal: end.signal,
    resource: (namespace) => taker ?? config.resource({ ...kind, namespace }),
  });
  const timeOf = ({ eventTime }: TestObject) => String(eventTime);
  const counts = () =>
    cluster
      .list(kind)
      .toSorted((one, other) => timeOf(one).localeCompare(timeOf(other)))
      .map(({ series }) => Object(series).count);
  /** Waits until the cluster has these counts of series. */
  const has = (...expected: readonly (number | undefined)[]) =>
    until(t, () => JSON.stringify(counts()) === JSON.stringify(expected));
  const writes: string[] = [];
  cluster.onRequest = ({ method }) => method !== 'GET' && writes.push(method);
  return { cluster, events, clock, end, warnings, has, writes };
}

describe('an event', () => {
  test('is in the namespace of its object, with the controller that reports it', async (t) => {
    const { cluster, events, clock, has } = await startEvents(t);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u-2' } };
    events.record(node, { reason: 'Seen', action: 'Look' });
    events.record(settings, { ...failed, note: 'ä'.repeat(1_000) });
    await has(undefined, undefined);
    const [ofNode, ofMap] = cluster.list(kind);
    assert.deepEqual(
      [ofNode?.metadata.namespace, ofNode?.type, ofNode?.regarding, ofNode?.reportingController],
      ['default', 'Normal', { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u-2' }, 'clusterprofile-credentials'],
    );
    assert.deepEqual(
      [ofMap?.metadata.namespace, ofMap?.type, ofMap?.reason, ofMap?.action, ofMap?.reportingController],
      ['team-1', 'Warning', 'SyncFailed', 'Sync', 'settings'],
    );
    assert.match(String(ofMap?.reportingInstance), /^settings-./);
    assert.equal(ofMap?.eventTime, new Date(clock.now()).toISOString().replace('Z', '000Z'));
    const note = String(ofMap?.note);
    assert.ok(Buffer.byteLength(note) <= 1_024 && note.endsWith('ä...'), note);
  });

  test('that is equal to one before makes a series, whose count is written at once, and then every six minutes', async (t) => {
    const { events, clock, has, writes } = await startEvents(t);
    events.record(settings, failed);
    await has(undefined);
    events.record(settings, { ...failed, note: 'another note' });
    await has(2);
    for (let count = 3; count <= 100; count += 1) events.record(settings, failed);
    clock.advance(6 * minuteMs);
    await has(100);
    assert.deepEqual(writes, ['POST', 'PATCH', 'PATCH']);
    clock.advance(6 * minuteMs);
    events.record(settings, failed);
    await has(100, undefined);
    assert.deepEqual(writes, ['POST', 'PATCH', 'PATCH', 'POST']);
    clock.advance(60 * minuteMs);
    assert.deepEqual(clock.waits, [], 'nothing is left to do');
  });

  test('of a series that the server has no more is created again', async (t) => {
    const { cluster, events, has } = await startEvents(t);
    events.record(settings, failed);
    await has(undefined);
    const [event] = cluster.list(kind);
    cluster.delete(event ?? assert.fail());
    events.record(settings, failed);
    await has(2);
  });

  test('that cannot be written is dropped, with one warning, and does not stop the next one', async (t) => {
    const { cluster, events, has, warnings } = await startEvents(t);
    cluster.failNext(403, 2, ({ method }) => method === 'POST');
    for (const reason of ['A', 'B', 'C']) events.record(settings, { ...failed, reason });
    await has(undefined);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /^an event was dropped: .*403/);
    assert.equal(cluster.list(kind)[0]?.reason, 'C');
  });

  test('of which too many wait is dropped, with a warning, and written with the next equal one', async (t) => {
    const reasons: unknown[] = [];
    // Not to the server: so many requests take a second.
    const take = async (event: unknown) => {
      reasons.push(Object(event).reason);
      return {} as never; // nobody reads it
    };
    const { events, warnings } = await startEvents(t, { create: take, patch: take });
    // The first one is being written while 1,000 wait.
    const record = (index: number) => events.record(settings, { ...failed, reason: `R${index}` });
    for (let index = 0; index < 1_002; index += 1) record(index);
    assert.deepEqual(warnings, ['too many events wait to be written: one was dropped']);
    await until(t, () => reasons.length === 1_001);
    record(1_001);
    await until(t, () => reasons.length > 1_001);
    assert.deepEqual(
      reasons,
      Array.from({ length: 1_002 }, (_, index) => `R${index}`),
    );
  });

  test('is not written for a cluster that has left', async (t) => {
    const { events, end, clock, writes } = await startEvents(t);
    end.abort();
    events.record(settings, failed);
    assert.deepEqual([clock.waits, writes], [[], []]);
  });

  test('that is wrong is an error of the caller', async (t) => {
    const { events } = await startEvents(t);
    const none = { metadata: { name: 'a' } } as EventRegarding;
    assert.throws(() => events.record(none, failed), { code: 'OPTION_INVALID', message: /an object with its kind/ });
    const wrong = { ...failed, type: 'Error', reason: '' } as never;
    assert.throws(() => events.record(settings, wrong), { code: 'OPTION_INVALID', message: /Normal or Warning/ });
  });
});

test('a cluster of a fleet records events', async (t) => {
  const { cluster: server, engaged: cluster } = await startEngaged(t);
  server.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });
  const maps = cluster.informer({ apiVersion: 'v1', kind: 'ConfigMap' });
  await maps.synced();
  cluster.events.record(maps.get('a', 'default') ?? assert.fail(), failed);
  await until(t, () => server.list(kind).length === 1);
  const { regarding } = server.list(kind)[0] ?? assert.fail();
  assert.equal(Object(regarding).uid, maps.get('a', 'default')?.metadata.uid);
});
