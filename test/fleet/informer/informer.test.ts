import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Informer } from '../../../src/fleet/informer/informer.ts';
import type { InformerEvent } from '../../../src/fleet/informer/options.ts';
import { refuse } from '../../fixtures/config-map-server.ts';
import type { ConfigMap } from '../../fixtures/controllers.ts';
import { startInformers } from '../../fixtures/informers.ts';
import { until } from '../../fixtures/until.ts';

const map = (name: string, data: Record<string, string> = {}, namespace = 'default') => ({
  metadata: { name, namespace },
  data,
});
const names = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => metadata.name).sort();

/** Reads an informer's events one after the other. */
function reader(informer: Informer<ConfigMap>) {
  const events = informer[Symbol.asyncIterator]();
  return async (): Promise<InformerEvent<ConfigMap>> => {
    const { value, done } = await events.next();
    assert.ok(!done);
    return value;
  };
}

describe('an informer', () => {
  test('has what is there when it has synced, also by an index, and keeps it up to date', async (t) => {
    const { server, informer } = await startInformers(t);
    const byColour = ({ data = {} }: ConfigMap) => Object.values(data);
    server.apply(map('a', { one: 'red', two: 'red' }));
    server.apply(map('b', { one: 'red', two: 'blue' }, 'other'));
    const maps = informer({ indexers: { byColour } });
    assert.equal(maps.hasSynced, false);
    await maps.synced();
    assert.equal(maps.hasSynced, true);
    assert.deepEqual(names(maps.list()), ['a', 'b']);
    assert.deepEqual(names(maps.list('other')), ['b']);
    assert.deepEqual(maps.get('b', 'other')?.data, { one: 'red', two: 'blue' });
    assert.equal(maps.get('a', 'other'), undefined);
    assert.deepEqual(names(maps.byIndex('byColour', 'red')), ['a', 'b']);
    assert.deepEqual(names(maps.byIndex('byColour', 'blue')), ['b']);
    const next = reader(maps);
    for (let i = 0; i < 2; i++) await next();
    const change = next();
    await server.watched();
    server.apply(map('b', { one: 'green' }, 'other'));
    await change;
    assert.deepEqual(maps.get('b', 'other')?.data, { one: 'green' });
    assert.deepEqual(names(maps.byIndex('byColour', 'red')), ['a']);
    assert.deepEqual(names(maps.byIndex('byColour', 'green')), ['b']);
    server.delete('a');
    await next();
    assert.equal(maps.get('a', 'default'), undefined);
    assert.deepEqual(maps.byIndex('byColour', 'red'), []);
    assert.throws(() => maps.byIndex('byNode', 'x'), /there is no index byNode: name it in indexers \(byColour\)/);
  });

  test('is shared by equal options, and by no others', async (t) => {
    const { informer, server, warnings } = await startInformers(t);
    const transform = (object: ConfigMap) => object;
    const indexers = { x: () => [] };
    assert.equal(informer({ transform, indexers }), informer({ transform, indexers: { ...indexers } }));
    const different = [
      informer(),
      informer({ transform }),
      informer({ indexers }),
      informer({ namespace: 'a' }),
      informer({ labelSelector: 'a' }),
      informer({ metadataOnly: true }),
    ];
    assert.equal(new Set(different).size, 6);
    assert.equal(informer({ metadataOnly: true }), different.at(-1));
    assert.equal(informer({ metadataOnly: false }), different[0]);
    await server.watched(6);
    for (let i = 0; i < 6; i++) informer({ transform: (object) => object });
    const said =
      /^8 informers for ConfigMap \(v1\), each with functions of its own: define transform and indexers once/;
    assert.match(warnings.join('\n'), said);
  });

  test('tells each loop everything, the slow one too, and merges what it has missed', async (t) => {
    const { server, informer } = await startInformers(t);
    server.apply(map('a', { v: '0' }));
    const maps = informer();
    await maps.synced();
    const [quick, slow] = [reader(maps), reader(maps)];
    assert.deepEqual(await quick(), { type: 'Apply', object: maps.get('a', 'default') });
    const first = await slow();
    const change = quick();
    await server.watched();
    for (let v = 1; v <= 100; v++) server.apply(map('a', { v: String(v) }));
    server.apply(map('passing'));
    server.delete('passing');
    server.apply(map('last'));
    await change;
    for (;;) if ((await quick()).object.metadata.name === 'last') break;
    const merged = await slow();
    assert.ok(merged.type === 'Apply');
    assert.deepEqual(merged.object.data, { v: '100' });
    assert.equal(merged.old, first.object);
    assert.equal((await slow()).object.metadata.name, 'last');
  });

  test('that lists again tells only what has changed meanwhile, and what has gone', async (t) => {
    const { server, informer, clock, watching } = await startInformers(t);
    for (const name of ['same', 'changed', 'gone', 'replaced']) server.apply(map(name));
    const maps = informer();
    const next = reader(maps);
    for (let i = 0; i < 4; i++) await next();
    const change = next();
    await watching();
    clock.advance(20_000);
    server.endWatches();
    server.apply(map('changed', { v: '2' }));
    server.delete('gone');
    server.delete('replaced');
    server.apply(map('replaced'));
    server.apply(map('new'));
    server.compact();
    const events = [await change];
    while (events.length < 5) events.push(await next());
    assert.deepEqual(events.map(({ type, object }) => `${type} ${object.metadata.name}`).sort(), [
      'Apply changed',
      'Apply new',
      'Apply replaced',
      'Delete gone',
      'Delete replaced',
    ]);
    assert.equal(maps.list().length, 4);
  });

  test('stays readable while its server is away, and says why', async (t) => {
    const { server, informer, clock } = await startInformers(t);
    server.apply(map('a'));
    const maps = informer();
    await maps.synced();
    await server.watched();
    server.misbehave = (_request, response) => {
      refuse(response, 503, 'ServiceUnavailable', 'etcd is away');
      return true;
    };
    server.endWatches();
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 1_600));
    const next = await clock.waiting((ms) => ms >= 1_600 && ms <= 3_200);
    assert.equal(maps.problem?.reason, 'server_error');
    assert.match(maps.problem.message, /etcd is away/);
    assert.deepEqual(names(maps.list()), ['a']);
    server.misbehave = () => false;
    clock.advance(next);
    await server.watched();
    await clock.waiting((ms) => ms > 100_000);
    assert.equal(maps.problem, undefined);
  });

  test('ends with its cluster: loops end, waiting for it rejects, no timer is left', async (t) => {
    const { server, informer, stop, clock } = await startInformers(t);
    const maps = informer();
    await maps.synced();
    const loop = (async () => {
      for await (const _ of maps);
    })();
    server.misbehave = () => true;
    const never = informer({ namespace: 'x' }).synced();
    stop.abort(new Error('disengaged'));
    await loop;
    await assert.rejects(never, /disengaged/);
    assert.throws(() => informer(), /disengaged/);
    await until(t, () => clock.waits.length === 0);
  });
});
