import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clusterOf } from '../../../src/fleet/membership/identity.ts';
import { isEngaged, type ProfileStatus, startHub, stateOf } from '../../fixtures/fleet-hub.ts';
import { until } from '../../fixtures/until.ts';

const id = (value: string, set?: string): ProfileStatus => ({
  properties: [
    { name: 'cluster.clusterset.k8s.io', value },
    ...(set === undefined ? [] : [{ name: 'clusterset.k8s.io', value: set }]),
  ],
});
const madeAt = (year: number) => ({ creationTimestamp: `${year}-01-01T00:00:00Z` });
/** The default: fleets of other tests have one cluster under many names. */
const byDefault = { identify: clusterOf };

describe('one cluster with several profiles', () => {
  test('is engaged once, under the oldest; the next takes over when it goes, and a new one displaces none', async (t) => {
    const { publish, withdraw, spoke, run } = await startHub(t);
    const [cluster, other] = [await spoke(), await spoke()];
    publish('b', cluster, { ...id('x'), ...madeAt(2020) });
    publish('a', cluster, { ...id('x'), ...madeAt(2021) });
    publish('other', other, id('y'));
    const fleet = run(byDefault);
    const engagements: string[] = [];
    let engaged = 0;
    fleet.onEngage(({ name, signal }) => {
      if (name === 'fleet/other') return;
      engagements.push(name);
      engaged += 1;
      assert.equal(engaged, 1, 'never twice at once');
      signal.addEventListener('abort', () => {
        engaged -= 1;
      });
    });
    await fleet.synced();
    assert.equal(stateOf(fleet, 'a'), 'Duplicate SAME_CLUSTER');
    assert.match(fleet.list()[0]?.message ?? '', /^fleet\/b is the same cluster \(id \/x\), and is engaged$/);
    assert.ok(isEngaged(fleet, 'other'));
    withdraw('b');
    await until(t, () => isEngaged(fleet, 'a'));
    publish('0', cluster, { ...id('x'), ...madeAt(2022) });
    await until(t, () => stateOf(fleet, '0') === 'Duplicate SAME_CLUSTER');
    assert.deepEqual(engagements, ['fleet/b', 'fleet/a']);
  });

  test('in two inventories, without an ID, is worked on once by its server, and a warning says so', async (t) => {
    const { publish, spoke, run, warnings } = await startHub(t);
    const cluster = await spoke();
    publish('one/c', cluster, madeAt(2020));
    publish('two/c', cluster, madeAt(2021));
    publish('two/elsewhere', cluster, { server: `${cluster.url}/other` });
    const fleet = run(byDefault);
    const reconciled: string[] = [];
    fleet.controller({
      name: 'x',
      for: { apiVersion: 'v1', kind: 'Namespace', fieldSelector: 'metadata.name=default' },
      reconcile: (_request, { cluster: { name } }) => void reconciled.push(name),
    });
    await until(t, () => reconciled.length > 0 && stateOf(fleet, 'two/c') === 'Duplicate SAME_SERVER');
    assert.deepEqual(reconciled, ['one/c']);
    assert.notEqual(stateOf(fleet, 'two/elsewhere').split(' ')[0], 'Duplicate');
    const said = warnings.filter((line) => line.startsWith('two/c: '));
    assert.deepEqual(said, [
      'two/c: Duplicate (SAME_SERVER): one/c has the same server and is engaged: give them IDs, or set identify, if they are two',
    ]);
  });

  test('is engaged under a profile that the providers know, though another one is older', async (t) => {
    const { publish, spoke, run } = await startHub(t);
    const cluster = await spoke();
    publish('old', cluster, { ...id('x'), ...madeAt(2020), access: 'unknown' });
    publish('new', cluster, { ...id('x'), ...madeAt(2021) });
    const fleet = run(byDefault);
    await until(t, () => isEngaged(fleet, 'new'));
    assert.equal(stateOf(fleet, 'old'), 'Duplicate SAME_CLUSTER');
  });
});

test('a profile is identified by its ID in its ClusterSet, that of OCM, its server, or else its name', () => {
  const of = (status: unknown) =>
    clusterOf({ apiVersion: 'v1', kind: 'x', metadata: { namespace: 'n', name: 'p' }, status } as never);
  const at = (cluster: object) => of({ accessProviders: [{ name: 'fake', cluster }] });
  const properties = (...pairs: readonly (readonly [string, unknown])[]) =>
    of({ properties: pairs.map(([name, value]) => ({ name, value })) });
  assert.equal(properties(['cluster.clusterset.k8s.io', 'c1'], ['clusterset.k8s.io', 'set']), 'id set/c1');
  assert.equal(properties(['id.k8s.io', 'uid'], ['cluster.clusterset.k8s.io', 'c1']), 'id /c1');
  assert.equal(properties(['id.k8s.io', 'uid']), 'id uid');
  for (const broken of [
    undefined,
    null,
    {},
    { properties: 7 },
    { properties: [null, { name: 'id.k8s.io', value: 7 }] },
  ])
    assert.equal(of(broken), 'n/p');
  for (const broken of [
    { accessProviders: 'x' },
    { accessProviders: [null, { cluster: null }, { cluster: { server: 7 } }] },
  ])
    assert.equal(of(broken), 'n/p');
  // Not in a time that grows with the square of its length: one profile would stop the fleet.
  assert.match(at({ server: `https://a.example${'/'.repeat(1_000_000)}x` }), /^server /);
  const here = at({ server: 'https://a.example:443/' });
  assert.match(here, /^server [0-9a-f]{32}$/);
  assert.equal(at({ server: 'https://A.example', 'proxy-url': null, 'disable-compression': true }), here);
  for (const elsewhere of [
    { server: 'https://a.example/path' },
    { server: 'https://a.example', 'tls-server-name': 'b' },
    { server: 'https://a.example', 'proxy-url': 'http://p' },
    { server: 'https://a.example', 'certificate-authority-data': 'eA==' },
  ])
    assert.notEqual(at(elsewhere), here);
  assert.equal(of({ credentialProviders: [{ name: 'x', cluster: { server: 'https://a.example' } }] }), here);
});
