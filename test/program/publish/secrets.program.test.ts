import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import type { FakeCluster } from '../../../src/testing/index.ts';
import { startPublished } from '../../fixtures/published.ts';

/** Who asks for tokens, from now on. */
function mintersAt(spokes: readonly FakeCluster[]): readonly (string | undefined)[] {
  const minters: (string | undefined)[] = [];
  for (const spoke of spokes) {
    spoke.onRequest = ({ url, identity }) => void (url.endsWith('/token') && minters.push(identity));
  }
  return minters;
}

describe('clusterprofile publish, for users with a credential of their own or a service account', () => {
  test('--write-secrets puts a token and a certificate into Secrets, and into nothing else', async (t) => {
    const { run, path, kubeconfig, spokes, hub, profiles, providers, secrets, versions } = await startPublished(t);
    const [first, second] = spokes;
    const { certificate, key } = first.certificateAuthority.issue({ commonName: 'admin', client: true });
    await writeFile(path('client.crt'), certificate);
    await writeFile(path('client.key'), key);
    const users = { certified: { 'client-certificate': 'client.crt', 'client-key': 'client.key' } };
    await writeFile(
      path('kubeconfig'),
      kubeconfig({ certified: ['certified', 1], two: ['exec-2', 2], three: ['token', 3] }, users),
    );
    const without = await run();
    assert.equal(without.exitCode, 10);
    assert.match(without.stderr, /context certified: its user has a client certificate.* --write-secrets NAMESPACE/);
    assert.match(without.stderr, /context three: its user has a token/);
    assert.match(without.stdout, /fleet\/two +created/);

    const written = await run('--write-secrets', 'credentials');
    assert.deepEqual([written.stderr, written.exitCode], ['', 0]);
    assert.match(written.stdout, /fleet\/certified +created +kubeconfig-secretreader, \S+, healthy/);
    assert.match(written.stdout, /fleet\/three +created +kubeconfig-secretreader, \S+, healthy/);
    const [, readerOf] = parse(await providers()).providers;
    assert.deepEqual(readerOf.execConfig.args, [
      '--namespace',
      'credentials',
      '--label',
      'x-k8s.io/cluster-manager=clusterprofile-publish',
    ]);
    assert.deepEqual(readerOf.allowedProfiles, { namespaces: ['fleet'] });
    const everything = [written.stdout, await providers(), JSON.stringify(profiles())].join();
    for (const secret of ['token-3', key, Buffer.from(key).toString('base64')]) assert.ok(!everything.includes(secret));

    const before = [...versions(), ...secrets('credentials').map(({ metadata }) => metadata.resourceVersion)];
    const again = await run('--write-secrets', 'credentials', '-o', 'json');
    assert.equal(JSON.parse(again.stdout).items.length, 3);
    assert.doesNotMatch(again.stdout, /token-3/);
    assert.deepEqual(
      [...versions(), ...secrets('credentials').map(({ metadata }) => metadata.resourceVersion)],
      before,
    );
    assert.equal(second.stats.unauthorized, 0);
    assert.equal(hub.stats.unauthorized, 0);
  });

  test('--service-account gives each cluster an identity of its own, and the next run renews its token if it is due or refused', async (t) => {
    const { run, spokes, secrets } = await startPublished(t);
    const flags = ['--service-account', 'fleet-controller', '--cluster-role', 'edit', '-n', 'fleet'];
    const first = await run(...flags, '--token-lifetime', '10m');
    assert.deepEqual([first.stderr, first.exitCode], ['', 0]);
    assert.match(first.stdout, /fleet\/one +created +kubeconfig-secretreader, \S+, healthy/);
    const [, , third] = spokes;
    const identity = 'system:serviceaccount:kube-system:fleet-controller';
    assert.ok((third.stats.byIdentity.get(identity) ?? 0) > 0);
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' };
    const [bound] = third.list(binding);
    assert.deepEqual(Object(bound).roleRef.name, 'edit');
    const versions = () =>
      Object.fromEntries(secrets('fleet').map(({ metadata: { name, resourceVersion } }) => [name, resourceVersion]));
    const before = versions();
    const minted = mintersAt(spokes);
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'kube-system', name: 'fleet-controller' },
    };
    spokes[0].delete(account);
    const { stdout } = await run(...flags, '--token-lifetime', '10m');
    // The account of the first is gone, the second's token is good, and the third renews its own.
    assert.match(stdout, /fleet\/one +unchanged .*, healthy/);
    assert.deepEqual(minted.toSorted(), ['controller', identity]);
    const { one, two, three } = versions();
    assert.deepEqual([one === before.one, two === before.two, three === before.three], [false, true, false]);
  });

  test('--service-account takes the token alone from a Secret that others have changed, and runs nothing that it names', async (t) => {
    const { run, spokes, secrets, hub, path } = await startPublished(t);
    const flags = ['--service-account', 'fleet-controller', '--cluster-role', 'edit', '-n', 'fleet'];
    await run(...flags, '--token-lifetime', '10m');
    const three = secrets('fleet').find(({ metadata }) => metadata.name === 'three');
    assert.ok(three);
    const written = JSON.parse(Buffer.from(String(Object(three.data).kubeconfig), 'base64').toString());
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'touch', args: [path('ran')] };
    const changed = {
      ...written,
      users: [...written.users, { name: 'other', user: { exec: { ...exec, interactiveMode: 'Never' } } }],
      contexts: [{ name: 'other', context: { cluster: written.clusters[0].name, user: 'other' } }],
      'current-context': 'other',
    };
    hub.set({ ...three, data: { kubeconfig: Buffer.from(JSON.stringify(changed)).toString('base64') } });
    const minted = mintersAt(spokes);
    await run(...flags, '--context', 'three');
    assert.deepEqual(minted, ['system:serviceaccount:kube-system:fleet-controller']);
    assert.ok(!existsSync(path('ran')));
  });
});
