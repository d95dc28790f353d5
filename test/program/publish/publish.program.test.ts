import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { startCluster } from '../../fixtures/fleet.ts';
import { kubeconfigFor } from '../../fixtures/fleet-hub.ts';
import { profileOf } from '../../fixtures/operated-fleet.ts';
import { runProgram, writeKubeconfig } from '../../fixtures/program.ts';
import { startPublished } from '../../fixtures/published.ts';
import { until } from '../../fixtures/until.ts';

const namesOf = (list: readonly { readonly metadata: { readonly name: string } }[]) =>
  list.map(({ metadata }) => metadata.name);
const condition = (profile: object | undefined) => Object(Object(profile).status).conditions?.[0];

describe('clusterprofile publish --from-kubeconfig', () => {
  test('publishes exec users by one provider with the narrowest rules, and check reaches them', async (t) => {
    const { run, env, path, profile, providers, versions } = await startPublished(t);
    const first = await run('--context', 'o*', '--context', 'two');
    assert.deepEqual([first.stderr, first.exitCode], ['', 0]);
    assert.match(first.stdout, /^clusterprofile fleet\/one +created +plugin, https:\S+, healthy, v1\.36\.0\+1\n/);
    const [provider, ...others] = parse(await providers()).providers;
    assert.deepEqual(others, []);
    const { allowedServers, execConfig, ...rules } = provider;
    assert.equal(allowedServers.length, 2);
    assert.deepEqual(
      [execConfig.args, execConfig.env],
      [['get-token', '--cluster'], [{ name: 'REGION', value: 'eu' }]],
    );
    assert.deepEqual(rules, {
      name: 'plugin',
      profileSourcedCLIArgsPolicy: 'Append',
      allowedArgs: ['spoke-1', 'spoke-2'],
      profileSourcedEnvVarsPolicy: 'Replace',
      allowedEnvVars: ['SPOKE'],
    });
    const one = profile('one');
    const { version, properties } = Object(one?.status);
    assert.equal(version.kubernetes, 'v1.36.0+1');
    assert.match(properties[0].name + properties[0].value, /^cluster\.clusterset\.k8s\.io[\da-f-]{36}$/);
    assert.deepEqual([condition(one).status, condition(one).reason], ['True', 'Ready']);
    assert.equal(one?.metadata.labels?.['x-k8s.io/cluster-manager'], 'clusterprofile-publish');

    const check = await runProgram(t, ['check', '--clusterprofile-provider-file', path('providers.yaml')], { env });
    assert.match(check.stdout, /2 clusters: 2 ok/);

    const [text, before] = [await providers(), versions()];
    const second = await run('--context', 'o*', '--context', 'two');
    assert.match(second.stdout, /unchanged.*\n.*unchanged.*$/);
    assert.deepEqual([await providers(), versions()], [text, before]);
  });

  test('keeps an existing provider file with its comments, and widens nothing of it without --force', async (t) => {
    const { run, path, providers } = await startPublished(t);
    await run('--context', 'one', '--context', 'two');
    const own = `# ours\n${await providers()}`.replace(/ {6}- spoke-2\n/, '      # - spoke-2: later\n');
    await writeFile(path('providers.yaml'), own);
    const refused = await run('--context', 'one', '--context', 'two');
    assert.equal(refused.exitCode, 10);
    assert.match(refused.stderr, /^not published: context two: provider plugin .* widened: .*allowedArgs .*--force$/);
    assert.equal(await providers(), own);
    const forced = await run('--context', 'one', '--context', 'two', '--force');
    assert.equal(forced.exitCode, 0);
    assert.match(await providers(), /^# ours\n[\s\S]* - spoke-2\n +# - spoke-2: later\n/);
  });

  test('reports what is wrong with one context or cluster, and publishes the others', async (t) => {
    const { run, path, kubeconfig, hub, execUser, profiles } = await startPublished(t);
    hub.add(profileOf('taken', 'google', { server: 'https://other.example.dev' }));
    const users = {
      gcp: { 'auth-provider': { name: 'gcp' } },
      secret: { exec: { ...execUser('2').exec, args: ['--client-secret', 'hunter2hunter2'] } },
      nobody: {},
    };
    const contexts = {
      one: ['exec-1', 1],
      again: ['exec-1', 1],
      gcp: ['gcp', 2],
      secret: ['secret', 2],
      taken: ['exec-2', 2],
      nobody: ['nobody', 3],
      lost: ['token', 9],
    } as const;
    await writeFile(path('kubeconfig'), kubeconfig(contexts, users));
    const { stdout, stderr, exitCode } = await run();
    assert.equal(exitCode, 10);
    assert.match(stdout, /^clusterprofile fleet\/one +created[^\n]*\n\S+providers.yaml +written +plugin$/);
    assert.match(stderr, /^note: context again: the same cluster as context one, which is published$/m);
    assert.match(stderr, /context gcp: .* auth-provider gcp, .*gke-gcloud-auth-plugin/);
    assert.match(stderr, /context secret: its exec plugin is given a secret \(args\)/);
    assert.match(stderr, /context taken: ClusterProfile fleet\/taken belongs to the cluster manager ocm/);
    assert.match(stderr, /context nobody: its user has no credential/);
    assert.match(stderr, /context lost: .*"spoke-9", which is not in clusters/);
    assert.doesNotMatch(stderr + stdout, /hunter2/);
    assert.deepEqual(namesOf(profiles()), ['one', 'taken']);
  });

  test('says that a cluster cannot be reached from here, and not that it is unhealthy', async (t) => {
    const { run, spokes, profile } = await startPublished(t);
    await spokes[0].close();
    spokes[1].failNext({ status: 500 }, 1, ({ url }) => url.startsWith('/readyz'));
    const { stdout } = await run('--context', 'one', '--context', 'two');
    assert.match(stdout, /fleet\/one +created +plugin, \S+, unknown: CONNECT_FAILED/);
    assert.match(stdout, /fleet\/two +created +plugin, \S+, unhealthy: ReadyFailed, v1/);
    const state = (name: string) => condition(profile(name)).status;
    assert.deepEqual([state('one'), state('two')], ['Unknown', 'False']);
    await run('--context', 'two');
    assert.equal(state('two'), 'True');
  });

  test('--dry-run writes nothing, and prints the ClusterProfiles and the providers', async (t) => {
    const { run, profiles, providers, secrets } = await startPublished(t);
    const { stdout, exitCode } = await run('--dry-run', '-o', 'yaml', '--write-secrets', 'credentials');
    assert.equal(exitCode, 0);
    const { items, providers: shown } = parse(stdout);
    assert.deepEqual([items.length, shown.length], [3, 2]);
    assert.doesNotMatch(stdout, /token-3/);
    assert.deepEqual([profiles(), secrets('credentials')], [[], []]);
    await assert.rejects(providers(), /ENOENT/);
  });

  test('--prune deletes the ClusterProfiles of contexts that are gone, with their Secrets, and of no other manager', async (t) => {
    const { run, path, kubeconfig, hub, profiles, secrets } = await startPublished(t);
    hub.add(profileOf('foreign', 'google', { server: 'https://other.example.dev' }));
    await run('--write-secrets', 'credentials');
    const all = profiles();
    const asked = await run('--write-secrets', 'credentials', '--context', 'one', '--prune');
    assert.deepEqual([asked.stderr, profiles()], ['', all]);
    // Another context of the same cluster, which comes first in the file.
    await writeFile(path('kubeconfig'), kubeconfig({ again: ['exec-1', 1], one: ['exec-1', 1] }));
    const without = await run('--write-secrets', 'credentials');
    assert.match(without.stderr, /^note: context again: the same cluster as context one, which is published$/m);
    assert.match(without.stderr, /fleet\/three and 1 more: not in this source: --prune deletes/);
    const { stdout } = await run('--write-secrets', 'credentials', '--prune');
    assert.match(stdout, /clusterprofile fleet\/three +deleted/);
    assert.deepEqual(namesOf(profiles()), ['foreign', 'one']);
    assert.deepEqual(secrets('credentials'), []);
  });

  test('--watch prints changes, follows a token that is exchanged, survives a hub that refuses, counts what it does, and looks twice before it prunes', async (t) => {
    const { start, path, kubeconfig, hub, spokes, profiles, secrets } = await startPublished(t);
    await writeFile(path('token'), 'token-1');
    await writeFile(path('kubeconfig'), kubeconfig({ one: ['file', 1] }, { file: { tokenFile: path('token') } }));
    const secretsInto = ['--write-secrets', 'credentials'];
    const program = await start('--watch', '--prune', ...secretsInto, '--interval', '20ms', '--metrics-port', '0');
    await program.shows(/fleet\/one +created .* healthy/);
    const before = secrets('credentials');
    spokes[0].setTokens({ 'token-4': 'controller' });
    await writeFile(path('token'), 'token-4');
    await until(t, () => !isDeepStrictEqual(secrets('credentials'), before));
    hub.setTokens({});
    await program.shows(/^warning: the hub .* refuses the credential/m);
    hub.setTokens({ hub: 'operator' });
    const requests: string[] = [];
    hub.onRequest = ({ method, url }) => void requests.push(`${method} ${url.replace(/\?.*/, '')}`);
    await writeFile(path('kubeconfig'), kubeconfig({ two: ['exec-2', 2] }));
    await program.shows(/fleet\/one +deleted/);
    // The round after the one that has found it missing.
    assert.match(
      requests.join('\n'),
      /^\w+ \S+\/clusterprofiles\/two\/status\n(?:.*\n)*GET \S+\/clusterprofiles\n(?:.*\n)*DELETE \S+\/one$/m,
    );
    assert.deepEqual(namesOf(profiles()), ['two']);
    const [, port] = /metrics on port (\d+)/.exec(program.shown()) ?? [];
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.match(metrics, /^clusterprofile_publish_clusters\{healthy="True"\} 1$/m);
    assert.match(metrics, /^clusterprofile_publish_failed_rounds_total [1-9]/m);
    program.kill('SIGTERM');
    assert.equal(await program.ended, 143);
  });

  test('writes to the hub and the namespace of clusterprofile.yaml, as whom --as says, whatever --context chooses of the source', async (t) => {
    const { hub, env, path, profiles } = await startPublished(t);
    await writeFile(path('hub'), kubeconfigFor(hub, 'hub', 'other').replace('"current-context":"hub"', '"x":""'));
    await writeFile(path('clusterprofile.yaml'), `kubeconfig: ${path('hub')}\ncontext: hub\nnamespace: fleet\n`);
    const users = new Set<unknown>();
    hub.onRequest = ({ headers }) => void users.add(headers['impersonate-user']);
    const source = ['--from-kubeconfig', path('kubeconfig'), '--context', 'one', '--skip-health'];
    const args = ['publish', ...source, '--providers', path('providers.yaml'), '--as', 'jane'];
    const { PATH } = env;
    const { stderr } = await runProgram(t, args, { env: { PATH, CLUSTERPROFILE_CONFIG: path('clusterprofile.yaml') } });
    assert.deepEqual([stderr, namesOf(profiles()), [...users]], ['', ['one'], ['jane']]);
  });

  test('says what is missing on a hub that refuses', async (t) => {
    const { run, hub, env, path } = await startPublished(t);
    hub.failNext({ status: 403 }, 1, ({ method }) => method === 'PATCH');
    const forbidden = await run('--context', 'one');
    assert.deepEqual([forbidden.exitCode, forbidden.stdout], [4, '']);
    assert.match(
      forbidden.stderr,
      /the hub does not let you publish.*\nhint: +bind a Role with .*clusterprofiles\/status/,
    );
    const bare = await startCluster(t, { tokens: { hub: 'operator' } });
    bare.delete({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'clusterprofiles.multicluster.x-k8s.io' },
    });
    const withoutCrd = await runProgram(
      t,
      ['publish', '--from-kubeconfig', path('kubeconfig'), '--providers', path('none.yaml')],
      { env: { ...env, KUBECONFIG: await writeKubeconfig(t, bare, 'hub') } },
    );
    assert.equal(withoutCrd.exitCode, 4);
    assert.match(
      withoutCrd.stderr,
      /does not know clusterprofiles\S* v1alpha1\nhint: +.*kubectl apply -f \S+_clusterprofiles\.yaml$/,
    );
    assert.ok(!existsSync(path('none.yaml')));
    const wrong = await run('-n', 'nowhere', '--context', 'one');
    assert.match(wrong.stderr, /hint: +kubectl create namespace nowhere/);
    const args = ['publish', '--from-kubeconfig', path('kubeconfig')];
    const usage = await runProgram(t, args, { env });
    assert.deepEqual([usage.exitCode, usage.stderr.split('\n')[0]], [2, 'error: the provider file is missing']);
    const two = await run('--from-kubeconfig', path('other'), '--prune');
    assert.deepEqual([two.exitCode, two.stderr.split('\n')[0]], [2, 'error: publish needs one source']);
  });
});
