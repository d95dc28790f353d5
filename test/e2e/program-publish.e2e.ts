// `clusterprofile publish` on real API servers; the Go library, the fleet and `check` on what it has written.
import assert from 'node:assert/strict';
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import { execa } from 'execa';
import { Fleet } from '../../src/fleet/index.ts';
import { CredentialProviders, RestConfig } from '../../src/index.ts';
import { runProgram } from '../fixtures/program.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';
import { profiles, startHub } from './crd.ts';
import { clusterOf, dist, kubeconfigText, lifetimeOf, serviceAccount, startPlane } from './fixture.ts';
import { buildAccess } from './go-programs.ts';

test('clusterprofile publish publishes an exec user, a token, a certificate and Cluster API, which the Go library, the fleet and check reach', async (t) => {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  const core = hub.admin.makeApiClient(CoreV1Api);
  for (const name of ['fleet', 'credentials', 'bots', 'capi'])
    await core.createNamespace({ body: { metadata: { name } } });
  const folder = await temporaryFolder(t);
  const path = (name: string) => join(folder, name);
  await chmod(dist('plugins/kubeconfig-secretreader.js'), 0o755);
  await symlink(dist('plugins/kubeconfig-secretreader.js'), path('kubeconfig-secretreader'));
  await writeFile(path('hub'), hub.admin.exportConfig(), { mode: 0o600 });
  const env = { KUBECONFIG: path('hub'), PATH: [folder, dirname(process.execPath), process.env.PATH].join(':') };
  const custom = hub.admin.makeApiClient(CustomObjectsApi);
  const list = async () => Object(await custom.listClusterCustomObject(profiles));
  const versions = async () => {
    const { items } = await list();
    const secrets = await core.listSecretForAllNamespaces();
    return [...items, ...secrets.items].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  };
  const publish = (...args: readonly string[]) =>
    runProgram(t, ['publish', '--providers', path('providers.json'), ...args], { env });
  const spokes = await Promise.all([startPlane(life, 'spoke-1'), startPlane(life, 'spoke-2')]);
  const [first, second] = await Promise.all(spokes.map((spoke) => serviceAccount(spoke, 'controller')));
  const tokens = [(await first?.mint()) ?? '', (await second?.mint()) ?? ''] as const;
  const { command } = await shellPlugin(t, print({ token: tokens[0] }));
  const [admin] = JSON.parse(hub.admin.exportConfig()).users;
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args: ['--cluster', 'spoke-1'],
    interactiveMode: 'Never',
  };
  const kubeconfig = {
    clusters: [...spokes, hub].map((plane) => ({ name: plane.name, cluster: clusterOf(plane) })),
    users: [
      { name: 'exec', user: { exec } },
      { name: 'token', user: { token: tokens[1] } },
      { name: 'certified', user: admin.user },
    ],
    contexts: [
      { name: 'by-exec', context: { cluster: 'spoke-1', user: 'exec' } },
      { name: 'by-token', context: { cluster: 'spoke-2', user: 'token' } },
      { name: 'by-certificate', context: { cluster: 'hub', user: 'certified' } },
    ],
  };
  await writeFile(path('kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
  await core.createNamespacedSecret({
    namespace: 'capi',
    body: {
      metadata: { name: 'workload-kubeconfig', labels: { 'cluster.x-k8s.io/cluster-name': 'workload' } },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: kubeconfigText(spokes[1], { token: tokens[1] }) },
    },
  });
  const rounds = [
    ['--from-kubeconfig', path('kubeconfig'), '-n', 'fleet', '--write-secrets', 'credentials'],
    ['--from-kubeconfig', path('kubeconfig'), '-n', 'bots', '--service-account=bot', '--cluster-role=cluster-admin'],
    ['--from-cluster-api', '-A'],
  ];
  let output = '';
  for (const args of rounds) {
    const { stdout, stderr, exitCode } = await publish(...args);
    assert.deepEqual([stderr, exitCode], ['', 0], stdout);
    for (const line of stdout.match(/^clusterprofile .*/gm) ?? [])
      assert.match(line, /created +\S+, \S+, healthy, v1\./);
    output += stdout;
  }
  const { items } = await list();
  const expected = {
    'bots/by-certificate': 'system:serviceaccount:kube-system:bot',
    'bots/by-exec': 'system:serviceaccount:kube-system:bot',
    'bots/by-token': 'system:serviceaccount:kube-system:bot',
    'capi/workload': 'system:serviceaccount:default:controller',
    'fleet/by-certificate': 'admin',
    'fleet/by-exec': 'system:serviceaccount:default:controller',
    'fleet/by-token': 'system:serviceaccount:default:controller',
  };
  const ids = items.map(({ status }: { status: { properties: { value: string }[] } }) => status.properties[0]?.value);
  assert.equal(new Set(ids).size, 3);

  await buildAccess('./reach', path('reach'));
  const reached = await execa(path('reach'), [path('providers.json')], { input: JSON.stringify({ items }), env });
  assert.deepEqual(Object.fromEntries(reached.stdout.split('\n').map((line) => line.split(' '))), expected);
  const check = await runProgram(t, ['check', '-A', '--clusterprofile-provider-file', path('providers.json')], {
    env,
  });
  assert.match(check.stdout, /7 clusters: 7 ok/, check.stdout);
  process.env.KUBECONFIG = path('hub');
  process.env.PATH = env.PATH;
  const providers = CredentialProviders.fromFile(path('providers.json'), { logger: { warn: () => {} } });
  const hubConfig = RestConfig.fromKubeConfig({ path: path('hub') });
  const fleet = new Fleet({
    hub: hubConfig,
    providers,
    namespaces: ['fleet', 'bots', 'capi'],
    logger: { warn: () => {} },
  });
  life.after(() => fleet.close().then(() => Promise.all([providers.close(), hubConfig.close()])));
  const engaged = new Set<string>();
  fleet.onEngage(({ name }) => void engaged.add(name));
  const running = fleet.run();
  // What is registered last ends first.
  life.after(async () => {
    await fleet.close();
    await running;
  });
  // Seven profiles of three clusters, by their ID: each is engaged once.
  await until(t, () => engaged.size === 3);

  const [text, before] = [await readFile(path('providers.json'), 'utf8'), await versions()];
  for (const args of rounds) output += (await publish(...args)).stdout;
  assert.deepEqual([await readFile(path('providers.json'), 'utf8'), await versions()], [text, before]);
  const secrets = [...tokens, admin.user['client-key-data'], admin.user['client-certificate-data']];
  for (const place of [output, text, JSON.stringify(await list())]) {
    for (const secret of secrets) assert.ok(!place.includes(secret));
  }
});
