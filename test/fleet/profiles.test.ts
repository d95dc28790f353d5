import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { getProfile, type KubernetesObject, listProfiles, watchProfiles } from '../../src/fleet/index.ts';
import { startHub } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';

const namesOf = (profiles: readonly KubernetesObject[]) =>
  profiles.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
const broken = {
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'ClusterProfile',
  metadata: { namespace: 'fleet', name: 'broken' },
  spec: 'none',
  status: { accessProviders: [null, 7, { name: 'fake', cluster: 'none' }], conditions: 'none' },
};

test('getProfile returns the profile of a name, and rejects if there is none or the name has no namespace', async (t) => {
  const { hubConfig, publish, providers, spoke } = await startHub(t);
  const config = hubConfig();
  publish('one', await spoke());
  await providers.getConfig(await getProfile(config, 'fleet/one')).ready();
  await assert.rejects(getProfile(config, 'fleet/two'), { statusCode: 404, message: /"two" not found/ });
  await assert.rejects(getProfile(config, 'one'), {
    code: 'OPTION_INVALID',
    message: /namespace\/name of a ClusterProfile/,
  });
});

describe('listProfiles', () => {
  test('lists the profiles of all namespaces, broken ones too, or of some, sorted by name', async (t) => {
    const { hub, hubConfig, publish } = await startHub(t);
    hub.set(broken);
    for (const name of ['b/two', 'a/one', 'c/three', 'b/one']) publish(name, 'https://x', { labels: { name: 'x' } });
    publish('b/zero', 'https://x');
    const config = hubConfig();
    assert.deepEqual(namesOf(await listProfiles(config)), [
      'a/one',
      'b/one',
      'b/two',
      'b/zero',
      'c/three',
      'fleet/broken',
    ]);
    const options = { namespaces: ['c', 'b', 'c'], labelSelector: 'name=x' };
    assert.deepEqual(namesOf(await listProfiles(config, options)), ['b/one', 'b/two', 'c/three']);
  });

  test('reads a long list with one request, so that nothing can expire between two pages', async (t) => {
    const { hub, hubConfig, publish } = await startHub(t);
    const config = hubConfig();
    for (let i = 0; i < 501; i++) publish(`one-${i}`, 'https://x');
    const urls: string[] = [];
    hub.onRequest = ({ url }) => {
      if (url.includes('/clusterprofiles')) urls.push(url);
    };
    assert.equal(new Set(namesOf(await listProfiles(config))).size, 501);
    assert.deepEqual(urls, ['/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles']);
  });

  test('rejects where the hub refuses, and where it has no ClusterProfiles', async (t) => {
    const { hub, hubConfig } = await startHub(t);
    const config = hubConfig();
    hub.failNext(403, 1, ({ url }) => url.includes('/namespaces/b/clusterprofiles'));
    await assert.rejects(listProfiles(config, { namespaces: ['a', 'b'] }), { code: 'API_STATUS', statusCode: 403 });
    hub.failNext(404, 1, ({ url }) => url.startsWith('/apis/multicluster'));
    await assert.rejects(listProfiles(hubConfig()), { code: 'KIND_NOT_SERVED' });
    await assert.rejects(listProfiles(config, { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  });
});

describe('watchProfiles', () => {
  test('yields the whole list when it has been read, and after each change', async (t) => {
    const { hub, hubConfig, publish, withdraw, logger } = await startHub(t);
    const config = hubConfig();
    publish('two', 'https://x');
    publish('one', 'https://x');
    publish('other/one', 'https://x');
    hub.set(broken);
    const lists = watchProfiles(config, { namespaces: ['fleet'], logger });
    const next = async () => namesOf((await lists.next()).value ?? []);
    assert.deepEqual(await next(), ['fleet/broken', 'fleet/one', 'fleet/two']);
    withdraw('two');
    assert.deepEqual(await next(), ['fleet/broken', 'fleet/one']);
    publish('one', 'https://changed');
    const { value: changed } = await lists.next();
    assert.equal(changed?.[1]?.status?.accessProviders?.[0]?.cluster?.server, 'https://changed');
    await lists.return();
    assert.ok((await lists.next()).done);
  });

  test('yields an empty list for a hub without profiles, and ends when its signal aborts', async (t) => {
    const { hubConfig, logger } = await startHub(t);
    const config = hubConfig();
    const stop = new AbortController();
    const lists = watchProfiles(config, { signal: stop.signal, logger });
    assert.deepEqual((await lists.next()).value, []);
    const ended = lists.next();
    stop.abort();
    assert.ok((await ended).done);
    assert.ok((await watchProfiles(config, { signal: stop.signal, logger }).next()).done);
  });

  test('leaves out a namespace that it may not read, and has its profiles when it may', async (t) => {
    const { hub, hubConfig, publish, warnings, logger } = await startHub(t);
    const config = hubConfig();
    publish('good/one', 'https://x');
    publish('bad/one', 'https://x');
    let isForbidden = true;
    hub.failNext(403, 1_000, ({ url }) => isForbidden && url.includes('/namespaces/bad/'));
    const clock = new ManualClock();
    const lists = watchProfiles(config, { namespaces: ['bad', 'good'], logger, clock });
    t.after(() => lists.return());
    assert.deepEqual(namesOf((await lists.next()).value ?? []), ['good/one']);
    const advice = /status 403.*allow the verbs get, list and watch on clusterprofiles\.multicluster\.x-k8s\.io/;
    assert.match(warnings.join('\n'), advice);
    isForbidden = false;
    const both = lists.next();
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    assert.deepEqual(namesOf((await both).value ?? []), ['bad/one', 'good/one']);
  });
});
