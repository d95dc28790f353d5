import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isPage, refuse } from '../../fixtures/config-map-server.ts';
import { type ConfigMap, configMaps, ofKind, startEngaged } from '../../fixtures/controllers.ts';
import { startInformers } from '../../fixtures/informers.ts';
import { until } from '../../fixtures/until.ts';

const map = (name: string, data: Record<string, string> = {}) => ({ metadata: { name, namespace: 'default' }, data });
const names = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => metadata.name).sort();
/** An object as a server sends it. */
const sent = (name: string, version: number, data: Record<string, string> = {}) => {
  const metadata = { namespace: 'default', uid: `uid-${name}`, resourceVersion: String(version) };
  return { ...ofKind('ConfigMap', name, metadata), data };
};
const listOf = (version: number, items: readonly object[], more: object = {}) =>
  JSON.stringify({ metadata: { resourceVersion: String(version), ...more }, items });

describe('an informer', () => {
  test('outlives indexers that return no list of texts or throw, and a listener that throws, and says so', async (t) => {
    const { server, informer, warnings } = await startInformers(t);
    server.apply(map('good'));
    const answers: Readonly<Record<string, () => unknown>> = {
      ...{ false: () => false, null: () => null, text: () => 'text', numbers: () => [5] },
      ...{ object: () => ({ 0: 'x' }), set: () => new Set(['x']) },
      fails: () => assert.fail('it broke'),
    };
    const indexers = Object.fromEntries(
      Object.entries(answers).map(([name, answer]) => [
        name,
        ({ metadata }: ConfigMap) => (metadata.name === 'odd' ? (answer() as never) : ['x']),
      ]),
    );
    const maps = informer({ indexers });
    maps.subscribe(({ key }) => assert.notEqual(key, 'default/odd', 'it is odd'));
    await maps.synced();
    await server.watched();
    server.apply(map('odd'));
    server.apply(map('later'));
    await until(t, () => maps.list().length === 3);
    for (const name of Object.keys(answers)) {
      assert.deepEqual(names(maps.byIndex(name, 'x')), ['good', 'later'], name);
      const why = name === 'fails' ? 'it broke' : 'it returned no list of texts';
      assert.ok(warnings.includes(`indexer ${name} for ConfigMap default/odd failed: ${why}`), warnings.join('\n'));
    }
    assert.ok(warnings.includes('a listener for ConfigMap default/odd failed: it is odd'));
    assert.equal(warnings.length, Object.keys(answers).length + 1);
  });

  test('keeps what its transform makes of an object, also where that cannot read what the object has become, and nothing of another one of its name', async (t) => {
    const { server, informer, warnings } = await startInformers(t);
    const transform = (object: ConfigMap) => {
      if (object.data?.v === 'odd') throw new Error('v is odd');
      return { ...object, data: { v: `made of ${object.data?.v}` } };
    };
    server.apply(map('a', { v: '1' }));
    const maps = informer({ transform, indexers: { v: ({ data }) => [data?.v ?? ''] } });
    const told: string[] = [];
    maps.subscribe(({ before, after, gone }) => told.push(`${before?.data?.v} ${after?.data?.v} ${gone?.data?.v}`));
    await maps.synced();
    await server.watched();
    for (const v of ['odd', '2', 'odd']) server.apply(map('a', { v }));
    await until(t, () => warnings.length === 2);
    assert.deepEqual(told, ['undefined made of 1 undefined', 'made of 1 made of 2 undefined']);
    const found = maps.byIndex('v', 'made of 2').map(({ data }) => data?.v);
    assert.deepEqual(found, ['made of 2']);
    const { metadata, ...rest } = map('a', { v: 'odd' });
    server.apply({ ...rest, metadata: { ...metadata, uid: 'another' } });
    await until(t, () => told.length === 3);
    assert.equal(told[2], 'made of 2 undefined made of 2');
    assert.deepEqual(maps.list(), []);
    assert.deepEqual(warnings, Array(3).fill('transform of ConfigMap default/a failed: v is odd'));
  });

  test('keeps nothing of a list that broke off, though as many objects are there as the next one names', async (t) => {
    const { server, informer } = await startInformers(t);
    server.streamingList = false;
    let lists = 0;
    server.misbehave = (request, response) => {
      if (!isPage(request)) return false;
      lists += 1;
      if (request.query.has('continue')) refuse(response, 410, 'Expired', 'the continue token is too old');
      else if (lists === 1) response.end(listOf(90, [sent('a', 80)], { continue: 'x' }));
      else response.end(listOf(100, [sent('b', 95)]));
      return true;
    };
    const transform = (object: ConfigMap) => {
      if (object.metadata.name === 'b') throw new Error('b is odd');
      return object;
    };
    const maps = informer({ transform });
    await maps.synced();
    assert.deepEqual(names(maps.list()), []);
  });

  test('keeps its cache as it was where a later list has no end, and takes the next one that has', async (t) => {
    const { server, informer, clock, watching } = await startInformers(t);
    server.streamingList = false;
    server.apply(map('a'));
    const maps = informer({ maxObjects: 50 });
    await maps.synced();
    await watching();
    let isEndless = true;
    server.misbehave = (request, response) => {
      if (!isEndless || !isPage(request)) return false;
      const from = Number(request.query.get('continue'));
      const items = Array.from({ length: 20 }, (_, i) => sent(`endless-${from + i}`, 90));
      response.end(listOf(100, items, { continue: String(from + 20) }));
      return true;
    };
    const told: string[] = [];
    maps.subscribe(({ key }) => told.push(key));
    clock.advance(20_000);
    server.endWatches();
    server.apply(map('b'));
    server.compact();
    await until(t, () => maps.problem?.reason === 'too_large');
    assert.deepEqual(names(maps.list()), ['a']);
    isEndless = false;
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    await until(t, () => maps.problem === undefined);
    assert.deepEqual(names(maps.list()), ['a', 'b']);
    assert.deepEqual(told, ['default/b']);
  });

  test('asks for a streaming list after discovery was refused: that says nothing of its list', async (t) => {
    const { cluster, engaged } = await startEngaged(t);
    cluster.failNext(501, 1, ({ url }) => url === '/api/v1');
    const asked: (string | undefined)[] = [];
    cluster.onRequest = ({ url }) => void (url.includes('/configmaps?') && asked.push(/sendInit|limit/.exec(url)?.[0]));
    await engaged.informer<ConfigMap>(configMaps).synced();
    assert.deepEqual(asked, ['sendInit']);
  });
});
