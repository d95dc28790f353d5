// Our secretreader and kubeconfig-secretreader beside those of the Go library, on a real API server and under our SDK.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { allow, clusterOf, dist, isTaken, lifetimeOf, programs, serviceAccount } from './fixture.ts';
import { buildAccess } from './go-programs.ts';
import { whoUnderBoth } from './producers/recipe.ts';
import { configFor } from './spoke.ts';

const v1 = 'client.authentication.k8s.io/v1';
const ours = (name: string) => dist(`plugins/${name}.js`);
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the plugins that read Secrets', () => {
  let plane: ControlPlane;
  let folder: string;
  let kubeconfig: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await buildAccess('./bench', join(folder, 'client-go'));
    for (const name of ['secretreader', 'kubeconfig-secretreader']) {
      await buildAccess(`sigs.k8s.io/cluster-inventory-api/plugins/${name}/cmd/plugin`, join(folder, name));
      await chmod(ours(name), 0o755);
    }
    plane = await startControlPlane(programs, 'secrets');
    kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, plane.admin.exportConfig());
    const { mint } = await serviceAccount(plane, 'spoke-1');
    await allow(plane, { kind: 'User', name: 'certified' });
    const { certificate, key } = plane.certificateAuthority.issue({ commonName: 'certified', client: true });
    const user = (name: string, fields: object) => ({ name, user: fields });
    const contexts = ['token', 'pair', 'half', 'file', 'nothing', 'gone'].map((name) => ({
      name,
      context: { cluster: 'c', user: name },
    }));
    const content = {
      'current-context': 'token',
      contexts,
      clusters: [{ name: 'c', cluster: { server: 'https://h' } }],
      users: [
        user('token', { token: await mint() }),
        user('pair', { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) }),
        user('half', { 'client-key-data': base64(key) }),
        user('file', { 'client-certificate': '/c', 'client-key': '/k' }),
        user('nothing', { username: 'u', password: 'p' }),
      ],
    };
    const core = plane.admin.makeApiClient(CoreV1Api);
    const secret = (name: string, stringData: Record<string, string>) =>
      core.createNamespacedSecret({ namespace: 'default', body: { metadata: { name }, stringData } });
    await secret('spoke-1', { token: await mint() });
    await secret('empty', { other: 'x' });
    await core.createNamespacedSecret({
      namespace: 'default',
      body: {
        metadata: { name: 'own', annotations: { 'kubernetes.io/service-account.name': 'spoke-1' } },
        type: 'kubernetes.io/service-account-token',
        stringData: { token: await mint() },
      },
    });
    await secret('kubeconfigs', {
      config: JSON.stringify(content),
      real: JSON.stringify({
        ...content,
        clusters: [{ name: 'c', cluster: clusterOf(plane) }],
      }),
      serverless: JSON.stringify({ ...content, clusters: [] }),
      broken: '{',
      extended: JSON.stringify({ ...content, extensions: [{ name: 'x', extension: {} }] }),
    });
  });
  after(async () => {
    await plane.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** What a plugin answers, or its complaint. */
  async function run(command: string, config: unknown, args: readonly string[] = []) {
    const cluster = { server: 'https://h', config };
    const env = {
      KUBECONFIG: kubeconfig,
      KUBERNETES_EXEC_INFO: JSON.stringify({
        kind: 'ExecCredential',
        apiVersion: v1,
        spec: { interactive: false, cluster },
      }),
    };
    const { exitCode, stdout, stderr } = await execa(command, args, { env, reject: false });
    return exitCode === 0
      ? { status: JSON.parse(stdout).status }
      : { exitCode, complaint: stderr.replace(/^\[[a-z-]+\] /, '') };
  }

  for (const [name, config] of [
    ['secretreader', { clusterName: 'spoke-1' }],
    ['secretreader', { clusterName: 'none' }],
    ['secretreader', { clusterName: 'empty' }],
    ['secretreader', { clusterName: '' }],
    ['secretreader', {}],
    ['secretreader', null],
    ['secretreader', { clusterName: 7 }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', namespace: 'default', context: 'pair' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', context: 'half' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', context: 'file' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', context: 'nothing' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', context: 'gone' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', context: 'unknown' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'none' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'broken' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'extended' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'config', namespace: 'other' }],
    ['kubeconfig-secretreader', { name: 'kubeconfigs' }],
    ['kubeconfig-secretreader', { key: 'config' }],
  ] as const) {
    test(`${name} answers as the Go one to ${JSON.stringify(config)}, or complains in the same words and more`, async () => {
      const [own, theirs] = await Promise.all([run(ours(name), config), run(join(folder, name), config)]);
      if ('status' in theirs) assert.deepEqual(own, theirs);
      else {
        assert.equal(own.exitCode, theirs.exitCode);
        // What is wrong is said in the beginning; what follows is each one's own.
        const beginning = (theirs.complaint ?? '').split(/[:;(]/)[0]?.trim() ?? '';
        assert.ok(own.complaint?.startsWith(beginning), `ours: ${own.complaint}\ntheirs: ${theirs.complaint}`);
        assert.doesNotMatch(own.complaint ?? '', /\n/);
      }
    });
  }

  // What docs/plugins.md lists as differences: ours give less away.
  for (const [name, config, complaint] of [
    ['secretreader', { clusterName: 'own' }, /is the token of a service account of this cluster, and is not printed/],
    [
      'kubeconfig-secretreader',
      { name: 'kubeconfigs', key: 'real' },
      /is for https:.*, and the profile's server is https:\/\/h/,
    ],
    ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'serverless' }, /names no server/],
  ] as const) {
    test(`${name} does not give what the Go one gives to ${JSON.stringify(config)}`, async () => {
      const [own, theirs] = await Promise.all([run(ours(name), config), run(join(folder, name), config)]);
      assert.ok('status' in theirs, JSON.stringify(theirs));
      assert.match(own.complaint ?? '', complaint);
    });
  }

  test('secretreader mints a token that expires with --token-request, which the cluster itself does not take', async () => {
    const { status } = await run(ours('secretreader'), { clusterName: 'spoke-1' }, [
      '--token-request',
      ...['--audience', 'https://spoke.example.dev', '--name', 'spoke-*', '--expiration-seconds', '600'],
    ]);
    const claims = JSON.parse(Buffer.from(status.token.split('.')[1], 'base64url').toString());
    assert.deepEqual(claims.aud, ['https://spoke.example.dev']);
    assert.equal(await isTaken(plane, status.token), false);
    const seconds = (Date.parse(status.expirationTimestamp) - Date.now()) / 1_000;
    assert.ok(seconds > 500 && seconds <= 600, `${seconds}`);
  });

  for (const [whose, command] of [
    ['ours', ours],
    ['the Go one', (name: string) => join(folder, name)],
  ] as const) {
    test(`${whose} authenticates under the SDK, kubectl and client-go: a token, and a client certificate`, async (t) => {
      for (const [name, extension, expected] of [
        ['secretreader', { clusterName: 'spoke-1' }, 'system:serviceaccount:default:spoke-1'],
        ['kubeconfig-secretreader', { name: 'kubeconfigs', key: 'real', context: 'pair' }, 'certified'],
      ] as const) {
        const env = [{ name: 'KUBECONFIG', value: kubeconfig }];
        const exec = { command: command(name), env, provideClusterInfo: true };
        const extensions = [{ name: 'client.authentication.k8s.io/exec', extension }];
        const config = configFor(lifetimeOf(t), plane, exec, extensions);
        assert.equal(await whoUnderBoth(t, config), expected);
        const path = join(folder, `${name}.kubeconfig`);
        await writeFile(path, config.exportConfig());
        // Lists namespaces, or fails: the file, requests, workers, rounds.
        await execa(join(folder, 'client-go'), [path, '2', '1', '1']);
      }
    });
  }
});
