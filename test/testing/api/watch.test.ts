import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configMap, configMaps, labelled, startApi } from '../../fixtures/api.ts';

describe('a watch', () => {
  test('from any version gets every change after it, in order, and nothing before it', async (t) => {
    const { cluster, send, watch } = await startApi(t);
    const versions: string[] = [];
    const version = async () => versions.push((await send('GET', configMaps)).body.metadata.resourceVersion);
    await version();
    cluster.add(configMap('a'));
    await version();
    cluster.set(configMap('a', { data: { x: '1' } }));
    await version();
    cluster.delete(configMap('a'));
    await version();
    const changes = ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED b'];
    const watches = await Promise.all(versions.map((since) => watch(`${configMaps}?resourceVersion=${since}`)));
    cluster.add(configMap('b'));
    for (const [index, { names }] of watches.entries()) {
      assert.deepEqual(await names(4 - index), changes.slice(index));
    }
  });

  test('tells what an object was when it was deleted, under the version of its deletion', async (t) => {
    const { cluster, send, watch } = await startApi(t);
    cluster.add(labelled('a', { x: 'y' }));
    const { next } = await watch(configMaps);
    await next();
    await send('DELETE', `${configMaps}/a`);
    const event = await next();
    const { body } = await send('GET', configMaps);
    assert.deepEqual([event?.type, event?.object.metadata.labels], ['DELETED', { x: 'y' }]);
    assert.equal(event?.object.metadata.resourceVersion, body.metadata.resourceVersion);
  });

  test('with selectors takes what comes into its selection as new, and what leaves it as deleted', async (t) => {
    const { cluster, watch } = await startApi(t);
    cluster.add([labelled('a', { x: 'yes' }), labelled('b', { x: 'no' })]);
    const { next, names } = await watch(`${configMaps}?labelSelector=x%3Dyes`);
    cluster.set(labelled('b', { x: 'yes' }));
    cluster.set(labelled('b', { x: 'yes', y: '1' }));
    cluster.set(labelled('b', { x: 'no', y: '1' }));
    cluster.delete(configMap('b'));
    cluster.delete(configMap('a'));
    assert.deepEqual(await names(4), ['ADDED a', 'ADDED b', 'MODIFIED b', 'DELETED b']);
    assert.equal((await next())?.object.metadata.name, 'a');
    const one = await watch(`${configMaps}?fieldSelector=metadata.name%3Dc`);
    cluster.add(['a', 'c'].map((name) => configMap(name)));
    assert.deepEqual(await one.names(1), ['ADDED c']);
  });

  test('sees its namespace, or all of them', async (t) => {
    const { cluster, watch } = await startApi(t);
    const one = await watch(configMaps);
    const all = await watch('/api/v1/configmaps');
    cluster.add([
      configMap('a'),
      { ...configMap('b'), metadata: { namespace: 'default-not', name: 'b' } },
      configMap('c'),
    ]);
    assert.deepEqual(await all.names(3), ['ADDED a', 'ADDED b', 'ADDED c']);
    assert.deepEqual(await one.names(2), ['ADDED a', 'ADDED c']);
  });

  test('from a version that is forgotten is told 410 and ends', async (t) => {
    const { cluster, send, watch } = await startApi(t);
    const { resourceVersion } = (await send('GET', configMaps)).body.metadata;
    const open = await watch(configMaps);
    cluster.add(configMap('a'));
    cluster.compact();
    const { statusCode, next } = await watch(`${configMaps}?resourceVersion=${resourceVersion}`);
    const event = await next();
    assert.deepEqual(
      [statusCode, event?.type, event?.object.code, event?.object.reason],
      [200, 'ERROR', 410, 'Expired'],
    );
    assert.match(event?.object.message, /^too old resource version: \d+ \(\d+\)$/);
    assert.equal(await next(), undefined);
    cluster.add(configMap('b'));
    assert.deepEqual(await open.names(2), ['ADDED a', 'ADDED b'], 'an open one goes on');
  });

  test('ends after its timeout, or when the test says so', async (t) => {
    const { cluster, watch } = await startApi(t);
    const short = await watch(`${configMaps}?timeoutSeconds=1`);
    assert.equal(await short.next(), undefined);
    const long = await watch(`${configMaps}?timeoutSeconds=600`);
    cluster.endWatches();
    assert.equal(await long.next(), undefined);
  });

  test('gets bookmarks where it asks for them', async (t) => {
    const { cluster, send, watch } = await startApi(t);
    cluster.add(configMap('a'));
    const { resourceVersion } = (await send('GET', configMaps)).body.metadata;
    const asked = await watch(`${configMaps}?allowWatchBookmarks=true&resourceVersion=${resourceVersion}`);
    const not = await watch(`${configMaps}?resourceVersion=${resourceVersion}`);
    cluster.add({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } });
    cluster.sendBookmarks();
    cluster.add(configMap('b'));
    const { body } = await send('GET', '/api/v1/namespaces/default/secrets/s');
    const bookmark = await asked.next();
    assert.deepEqual(bookmark, {
      type: 'BOOKMARK',
      object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: body.metadata.resourceVersion } },
    });
    assert.deepEqual(await asked.names(1), ['ADDED b']);
    assert.deepEqual(await not.names(1), ['ADDED b']);
  });

  test('that streams a list ends it with a bookmark that says so', async (t) => {
    const { cluster, send, watch } = await startApi(t);
    cluster.add(['a', 'b'].map((name) => configMap(name)));
    const { resourceVersion } = (await send('GET', configMaps)).body.metadata;
    const streaming = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    for (const since of ['', '0', '1', resourceVersion]) {
      const { next, names } = await watch(`${configMaps}?${streaming}&resourceVersion=${since}`);
      assert.deepEqual(await names(2), ['ADDED a', 'ADDED b'], since);
      const end = await next();
      assert.deepEqual(
        [end?.type, end?.object.metadata.annotations],
        ['BOOKMARK', { 'k8s.io/initial-events-end': 'true' }],
      );
      assert.equal(end?.object.metadata.resourceVersion, resourceVersion);
    }
    const { code } = await send('GET', `${configMaps}?watch=1&sendInitialEvents=true&timeoutSeconds=1`);
    assert.equal(code, 422, 'without resourceVersionMatch');
    const quiet = await watch(
      `${configMaps}?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    cluster.add(configMap('c'));
    assert.deepEqual(await quiet.names(1), ['ADDED c']);
  });

  test('of one namespace ends no other, and a namespace ends with what is in it', async (t) => {
    const { cluster, send, watch } = await startApi(t);
    cluster.add({ ...configMap('a'), metadata: { namespace: 'n', name: 'a' } });
    cluster.add({ ...configMap('b'), metadata: { namespace: 'n', name: 'b', finalizers: ['example.com/hold'] } });
    const namespaces = await watch('/api/v1/namespaces?fieldSelector=metadata.name%3Dn');
    const inside = await watch('/api/v1/namespaces/n/configmaps');
    const { body } = await send('DELETE', '/api/v1/namespaces/n');
    assert.equal(body.status.phase, 'Terminating');
    assert.deepEqual(await inside.names(4), ['ADDED a', 'ADDED b', 'DELETED a', 'MODIFIED b']);
    assert.equal((await send('GET', '/api/v1/namespaces/n')).body.status.phase, 'Terminating');
    const merge = { 'content-type': 'application/merge-patch+json' };
    await send('PATCH', '/api/v1/namespaces/n/configmaps/b', { metadata: { finalizers: null } }, merge);
    assert.deepEqual(await inside.names(1), ['DELETED b']);
    assert.deepEqual(await namespaces.names(3), ['ADDED n', 'MODIFIED n', 'DELETED n']);
    assert.equal((await send('GET', '/api/v1/namespaces/n')).code, 404);
  });
});

describe('what is kept for watches', () => {
  test('is bounded: a reader that reads nothing loses its watch, and one that is too late is told 410', async (t) => {
    const { cluster, send, watch, open } = await startApi(t, { history: 100 });
    const { body: start } = await send('GET', configMaps);
    const idle = await open('GET', `${configMaps}?watch=1`);
    t.after(() => idle.body.on('error', () => {}).destroy());
    const reading = await watch(configMaps);
    const padding = 'x'.repeat(500_000);
    for (let round = 0; round < 60; round++) {
      cluster.set(configMap('a', { data: { round: String(round), padding } }));
      assert.equal((await reading.next())?.object.data.round, String(round));
    }
    for (let round = 0; round < 200; round++) cluster.set(configMap('a', { data: { round: String(round) } }));
    assert.equal(
      (await (await watch(`${configMaps}?resourceVersion=${start.metadata.resourceVersion}`)).next())?.object.code,
      410,
    );
    let rounds = 0;
    for await (const chunk of idle.body) rounds += String(chunk).split('\n').length - 1;
    assert.ok(rounds < 60, `${rounds} events reached a reader that did not read`);
  });
});
