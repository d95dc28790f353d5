import assert from 'node:assert/strict';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type KubeconfigOptions, RestConfig } from '../../src/index.ts';
import { readDefault } from '../../src/rest/from-kubeconfig.ts';
import type { FakeCluster } from '../../src/testing/index.ts';
import { homeKubeconfig } from '../../src/util/folders.ts';
import { startCluster } from '../fixtures/fleet.ts';
import { kubeconfig, namespaces } from '../fixtures/kubeconfigs.ts';
import { temporaryFolder } from '../fixtures/script.ts';

/** A machine: a home, a mounted service account or none, and an environment. */
async function startMachine(t: TestContext) {
  const home = await temporaryFolder(t);
  const serviceAccount = join(home, 'serviceaccount');
  const warnings: string[] = [];
  const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
  const write = async (name: string, server: string, more: object = {}) => {
    await mkdir(join(home, '.kube'), { recursive: true });
    await writeFile(join(home, name), kubeconfig({ cluster: { server }, exec: null, more }));
    return join(home, name);
  };
  const load = (env: NodeJS.ProcessEnv, options: KubeconfigOptions = {}) => {
    const machine = { env, kubeconfig: () => join(home, '.kube', 'config'), serviceAccount };
    const config = RestConfig.create(readDefault({ logger, ...options }, machine));
    t.after(() => config.close());
    return config;
  };
  const server = (env: NodeJS.ProcessEnv, options?: KubeconfigOptions) => load(env, options).access.cluster.server;
  return { home, serviceAccount, warnings, write, load, server };
}

let mounts = 0;
/** As the kubelet does it: a new folder, and one symbolic link that is swapped. */
async function mount(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const version = `..version-${mounts++}`;
  await mkdir(join(folder, version), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, version, name), text);
    await symlink(join('..data', name), join(folder, name)).catch(() => undefined);
  }
  await symlink(version, join(folder, '..data.next'));
  await rename(join(folder, '..data.next'), join(folder, '..data'));
}

const podOf = (cluster: FakeCluster): NodeJS.ProcessEnv => {
  const { hostname, port } = new URL(cluster.url);
  return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
};
const filesOf = (cluster: FakeCluster, token = 'token-1') => ({
  token,
  namespace: 'team-a\n',
  'ca.crt': cluster.certificateAuthority.certificate,
});

describe('RestConfig.fromDefault', () => {
  test('takes KUBECONFIG, then ~/.kube/config, then the service account of the pod', async (t) => {
    const { home, serviceAccount, server, write } = await startMachine(t);
    const cluster = await startCluster(t);
    const pod = podOf(cluster);
    assert.throws(() => server(pod), { code: 'KUBECONFIG_INVALID' });
    await mount(serviceAccount, filesOf(cluster));
    assert.equal(server(pod), cluster.url);
    await write('.kube/config', 'https://home');
    assert.equal(server(pod), 'https://home');
    const one = await write('one', 'https://one');
    const two = await write('two', 'https://two');
    assert.equal(server({ ...pod, KUBECONFIG: [one, two].join(delimiter) }), 'https://one');
    assert.equal(server({ ...pod, KUBECONFIG: ['', join(home, 'gone'), two].join(delimiter) }), 'https://two');
    assert.equal(server({ ...pod, KUBECONFIG: '' }), 'https://home');
  });

  test('never falls back to ~/.kube/config from a KUBECONFIG whose files are missing', async (t) => {
    const { home, serviceAccount, server, warnings, write } = await startMachine(t);
    const cluster = await startCluster(t);
    await write('.kube/config', 'https://home');
    const env = { KUBECONFIG: join(home, 'gone') };
    const gone = /gone: does not exist, and this is no pod with a service account: correct KUBECONFIG/;
    assert.throws(() => server(env), gone);
    await mount(serviceAccount, filesOf(cluster));
    assert.equal(server({ ...env, ...podOf(cluster) }), cluster.url);
    assert.match(warnings.join(), /KUBECONFIG names no file that exists: the pod's service account is used instead/);
  });

  test('uses the service account where kubeconfigs have no current-context, and where no option names one', async (t) => {
    const { serviceAccount, server, warnings, write } = await startMachine(t);
    const cluster = await startCluster(t);
    await mount(serviceAccount, filesOf(cluster));
    const KUBECONFIG = await write('one', 'https://one', { 'current-context': '' });
    const env = { ...podOf(cluster), KUBECONFIG };
    assert.equal(server(env), cluster.url);
    assert.match(warnings.join(), /KUBECONFIG has no current-context/);
    assert.equal(server(env, { context: 'c' }), 'https://one');
    assert.throws(() => server({ KUBECONFIG }), /current-context: is missing \(found: c\)/);
    assert.throws(() => server(podOf(cluster), { context: 'c' }), { code: 'KUBECONFIG_INVALID' });
  });

  test('says what to do where there is nothing', async (t) => {
    const { home, server } = await startMachine(t);
    const what = `kubeconfig ${join(home, '.kube/config')}: does not exist, and this is no pod with a service account`;
    const message = `${what}: set KUBECONFIG, or write one there`;
    assert.throws(() => server({}), { name: 'ConfigurationError', code: 'KUBECONFIG_INVALID', message });
  });

  test('needs no home where KUBECONFIG is set, and says what to do where it is not', async (t) => {
    const { serviceAccount, write } = await startMachine(t);
    const kubeconfig = () => homeKubeconfig(() => assert.fail('ENOENT: no such user'));
    const load = (env: NodeJS.ProcessEnv) => RestConfig.create(readDefault({}, { env, kubeconfig, serviceAccount }));
    const config = load({ KUBECONFIG: await write('config', 'https://named') });
    t.after(() => config.close());
    assert.equal(config.access.cluster.server, 'https://named');
    assert.throws(() => load({}), /this user has no home, and this is no pod with a service account: set KUBECONFIG$/);
  });
});

describe('in a pod', () => {
  test('the token that the kubelet rotates is followed, before and after the old one is refused', async (t) => {
    const { load, serviceAccount } = await startMachine(t);
    const cluster = await startCluster(t, { tokens: { one: 'me', two: 'me', three: 'me' } });
    await mount(serviceAccount, filesOf(cluster, 'one'));
    const clock = { now: 0 };
    const hub = load(podOf(cluster), { clock: () => clock.now });
    const seen: unknown[] = [];
    cluster.onRequest = ({ headers }) => seen.push(headers.authorization);
    await namespaces(hub);
    await mount(serviceAccount, filesOf(cluster, 'two'));
    await namespaces(hub);
    assert.deepEqual(seen, ['Bearer one', 'Bearer one']);
    clock.now += 60_001;
    // The old one serves while the file is read behind it.
    while (seen.at(-1) !== 'Bearer two') await namespaces(hub);
    await mount(serviceAccount, filesOf(cluster, 'three'));
    cluster.setTokens({ three: 'me' });
    assert.equal(await namespaces(hub), 2);
    assert.equal(seen.at(-1), 'Bearer three');
  });

  test("the namespace is POD_NAMESPACE, or the service account's", async (t) => {
    const { load, serviceAccount } = await startMachine(t);
    const cluster = await startCluster(t);
    await mount(serviceAccount, filesOf(cluster));
    const namespace = (env: NodeJS.ProcessEnv) => load(env).getContextObject('in-cluster')?.namespace;
    assert.equal(namespace(podOf(cluster)), 'team-a');
    assert.equal(namespace({ ...podOf(cluster), POD_NAMESPACE: 'team-b' }), 'team-b');
    await mount(serviceAccount, { ...filesOf(cluster), namespace: '' });
    assert.equal(namespace(podOf(cluster)), undefined);
  });

  test('a service account without an authority trusts public ones, and says so', async (t) => {
    const { load, serviceAccount, warnings } = await startMachine(t);
    const cluster = await startCluster(t);
    await mount(serviceAccount, { ...filesOf(cluster), 'ca.crt': 'none' });
    assert.equal(load(podOf(cluster)).access.cluster.certificateAuthorityData, undefined);
    assert.match(warnings.join(), /ca\.crt holds no certificate, so only public authorities are trusted/);
  });

  test('an IPv6 service address gets its brackets, and what makes no URL is an error', async (t) => {
    const { server, serviceAccount } = await startMachine(t);
    const cluster = await startCluster(t);
    await mount(serviceAccount, filesOf(cluster));
    const serverAt = (host: string) => server({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: '443' });
    assert.equal(serverAt('fd00::1'), 'https://[fd00::1]:443');
    assert.throws(() => serverAt('a b'), { code: 'KUBECONFIG_INVALID' });
  });
});
