// Users without exec, and servers without TLS: what kubectl takes.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { KubernetesObjectApi } from '@kubernetes/client-node';
import { RestConfig } from '../../src/index.ts';
import { newNamespace, startCluster } from '../fixtures/fleet.ts';
import { clusterOf, headersOf, kubeconfig, load, namespaces, v1 } from '../fixtures/kubeconfigs.ts';
import { writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const withUser = (user: object) => ({ user, exec: null });

describe('a user', () => {
  test('is authenticated by a token, a token file, a user name, or a certificate with its key, beside exec too (A.7)', async (t) => {
    const cluster = await startCluster(t, { tokens: { static: 'by-token', file: 'by-file' } });
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'token'), 'file\n');
    const pair = cluster.certificateAuthority.issue({ commonName: 'by-certificate', client: true });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const certified = { 'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key) };
    for (const [user, identity, authorization] of [
      [{ token: 'static' }, 'by-token', 'Bearer static'],
      [{ tokenFile: join(folder, 'token') }, 'by-file', 'Bearer file'],
      [{ token: 'static', tokenFile: join(folder, 'gone') }, 'by-token', 'Bearer static'],
      [{ token: 'static', tokenFile: join(folder, 'token') }, 'by-file', 'Bearer file'],
      [{ username: 'u', password: 'p:w' }, undefined, `Basic ${base64('u:p:w')}`],
      [certified, 'by-certificate', undefined],
    ] as const) {
      for (const exec of [null, { command: '/never/run' }]) {
        const config = load(t, { cluster: clusterOf(cluster), user, exec });
        assert.equal((await headersOf(cluster, config)).authorization, authorization);
        if (identity) assert.equal(await namespaces(config), 2, identity);
        assert.equal(config.access.exec?.command, exec?.command);
        assert.match(config.access.ignored[0]?.reason ?? 'none', exec ? /has a credential of its own/ : /^none$/);
      }
    }
    const { byIdentity } = cluster.stats;
    assert.deepEqual([...byIdentity.keys()].sort(), ['by-certificate', 'by-file', 'by-token']);
  });

  test('or no user at all sends no credential, and starts nothing when it is refused', async (t) => {
    const cluster = await startCluster(t);
    const contexts = [{ name: 'c', context: { cluster: 'k' } }];
    for (const parts of [withUser({}), { more: { contexts, users: null } }]) {
      const { requests } = cluster.stats;
      const config = load(t, { cluster: clusterOf(cluster), ...parts });
      await config.ready();
      assert.equal((await headersOf(cluster, config)).authorization, undefined);
      await assert.rejects(namespaces(config), { code: 401 });
      assert.equal(cluster.stats.requests - requests, 2);
    }
  });

  test('is exported with the paths of its files, and without what is in them', async (t) => {
    const folder = await temporaryFolder(t);
    const key = Buffer.from('SECRET').toString('base64');
    const user = { tokenFile: 'token', 'client-certificate': 'certificate', 'client-key-data': key };
    const config = RestConfig.fromKubeConfig({ text: kubeconfig(withUser(user)), directory: folder });
    t.after(() => config.close());
    const shown = { tokenFile: join(folder, 'token'), 'client-certificate': join(folder, 'certificate') };
    assert.deepEqual(JSON.parse(config.exportConfig()).users[0].user, shown);
  });
});

describe('a token file', () => {
  test('that was rotated is read after a 401, and the request goes out again', async (t) => {
    const cluster = await startCluster(t, { tokens: { one: '1' } });
    const file = await writeInput(t, 'token', 'one');
    const config = load(t, { cluster: clusterOf(cluster), ...withUser({ tokenFile: file }) });
    await namespaces(config);
    cluster.setTokens({ two: '2' });
    await writeFile(file, 'two');
    assert.deepEqual(await Promise.all(Array.from({ length: 20 }, () => namespaces(config))), Array(20).fill(2));
    assert.equal(cluster.stats.byIdentity.get('2'), 20);
  });

  test('that was not rotated is not read for every 401', async (t) => {
    const cluster = await startCluster(t, { tokens: {} });
    const file = await writeInput(t, 'token', 'one');
    const clock = { now: 0 };
    const parts = { cluster: clusterOf(cluster), ...withUser({ tokenFile: file }) };
    const config = load(t, parts, { clock: () => clock.now });
    await assert.rejects(namespaces(config), { code: 401 });
    cluster.setTokens({ two: '2' });
    await writeFile(file, 'two');
    await assert.rejects(namespaces(config), { code: 401 });
    clock.now += 1_000;
    assert.equal(await namespaces(config), 2);
  });

  test('that is gone after a 401 leaves the caller the 401, and says why', async (t) => {
    const cluster = await startCluster(t, { tokens: { one: '1' } });
    const file = await writeInput(t, 'token', 'one');
    const warnings: string[] = [];
    const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
    const config = load(t, { cluster: clusterOf(cluster), ...withUser({ tokenFile: file }) }, { logger });
    await namespaces(config);
    cluster.setTokens({});
    await rm(file);
    await assert.rejects(namespaces(config), { code: 401 });
    assert.match(warnings.join(), /tokenFile: .* cannot be read \(ENOENT\)/);
  });
});

test('a server without TLS is taken, as by kubectl, but is sent no credential and no plugin runs for it', async (t) => {
  const cluster = await startCluster(t, { insecureHttp: true });
  const warnings: string[] = [];
  const logger = { warn: (_fields: object, message: string) => warnings.push(message) };
  const exec = { apiVersion: v1, command: '/no', interactiveMode: 'Never' };
  for (const user of [{ token: 'SECRET' }, { exec }, {}]) {
    const parts = { cluster: { server: cluster.url }, exec: null, user: { ...user, as: 'jane' } };
    const config = load(t, parts, { logger });
    const headers = await headersOf(cluster, config);
    assert.deepEqual([headers.authorization, headers['impersonate-user']], [undefined, 'jane']);
    await assert.rejects(namespaces(config), { code: 401 });
    const reasons = config.access.ignored.map(({ path, reason }) => `${path} ${reason}`);
    assert.equal(reasons.length, Object.keys(user).length);
    for (const reason of reasons) assert.match(reason, /^users\[0\]\.user is not used: .* over https:\/\/ only/);
  }
  assert.equal(warnings.length, 2);
  assert.match(warnings[0] ?? '', /^kubeconfig, user bob: users\[0\]\.user is not used: /);
});

test("a context's namespace is that of objects without one, and is exported", async (t) => {
  const cluster = await startCluster(t);
  cluster.add(newNamespace('team-a'));
  const asked: string[] = [];
  cluster.onRequest = ({ method, url }) => method === 'POST' && asked.push(url);
  for (const namespace of ['team-a', '', undefined]) {
    const contexts = [{ name: 'c', context: { cluster: 'k', user: 'bob', namespace } }];
    const config = load(t, { cluster: clusterOf(cluster), ...withUser({ token: 'token-1' }), more: { contexts } });
    assert.equal(config.getContextObject('c')?.namespace, namespace || undefined);
    assert.equal(JSON.parse(config.exportConfig()).contexts[0].context.namespace, namespace || undefined);
    const api = KubernetesObjectApi.makeApiClient(config);
    await api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'x-' } });
  }
  const expected = ['team-a', 'default', 'default'].map((name) => `/api/v1/namespaces/${name}/configmaps`);
  const paths = asked.map((url) => url.split('?')[0]);
  assert.deepEqual(paths, expected);
});
