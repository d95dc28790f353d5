// What client-go's exec authenticator does, or does otherwise (docs/differences.md), that only requests through a kubeconfig show.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startCluster } from '../fixtures/fleet.ts';
import { clusterOf, load, namespaces } from '../fixtures/kubeconfigs.ts';
import { print, setEnvironment, shellPlugin, temporaryFolder } from '../fixtures/script.ts';

describe('the plugin of a kubeconfig', () => {
  const answer = print({ token: 'token-1' });
  const leavesInfo = `printf '%s' "$KUBERNETES_EXEC_INFO" > "$DIR/info"\n${answer}`;
  const clusterInfo = async (folder: string) => JSON.parse(await readFile(join(folder, 'info'), 'utf8')).spec.cluster;

  test('runs for each config: two of one text share nothing (differs: one cache for the process there)', async (t) => {
    const { command, runs } = await shellPlugin(t, answer);
    await Promise.all([load(t, { exec: { command } }).ready(), load(t, { exec: { command } }).ready()]);
    assert.equal(await runs(), 2);
  });

  test('is handed the content of a file of authorities', async (t) => {
    const cluster = await startCluster(t);
    const { command, folder } = await shellPlugin(t, leavesInfo);
    const file = join(folder, 'ca.pem');
    await writeFile(file, cluster.certificateAuthority.certificate);
    const parts = { server: cluster.url, 'certificate-authority': file };
    await namespaces(load(t, { cluster: parts, exec: { command, provideClusterInfo: true } }));
    const info = await clusterInfo(folder);
    assert.equal(info['certificate-authority-data'], cluster.certificateAuthorityData);
  });

  test('is handed a proxy-url as it is, login and all, and not the proxies of the environment', async (t) => {
    const { command, folder } = await shellPlugin(t, leavesInfo);
    const exec = { command, provideClusterInfo: true };
    await load(t, { cluster: { 'proxy-url': 'http://u:p@127.0.0.1:1' }, exec }).ready();
    assert.equal((await clusterInfo(folder))['proxy-url'], 'http://u:p@127.0.0.1:1');
    setEnvironment(t, { HTTPS_PROXY: 'http://127.0.0.1:1' });
    await load(t, { exec }).ready();
    assert.ok(!('proxy-url' in (await clusterInfo(folder))));
  });

  test('is the first file of its name in PATH that can be run', async (t) => {
    const { folder, runs } = await shellPlugin(t, answer);
    const other = await temporaryFolder(t);
    await writeFile(join(other, 'plugin'), 'not executable', { mode: 0o644 });
    setEnvironment(t, { PATH: `${other}:${folder}:${process.env.PATH}` });
    await load(t, { exec: { command: 'plugin' } }).ready();
    assert.equal(await runs(), 1);
    setEnvironment(t, { PATH: other });
    await assert.rejects(load(t, { exec: { command: 'plugin' } }).ready(), { code: 'PLUGIN_NOT_EXECUTABLE' });
  });

  test('gives a new token: the connection stays; a new certificate gets one of its own (differs)', async (t) => {
    const cluster = await startCluster(t, { tokens: { a: 'a', b: 'b' } });
    const { command, folder } = await shellPlugin(t, 'cat "$DIR/answer"');
    const config = load(t, { cluster: clusterOf(cluster), exec: { command } });
    const certificate = (commonName: string) => {
      const pair = cluster.certificateAuthority.issue({ commonName, client: true });
      return { clientCertificateData: pair.certificate, clientKeyData: pair.key };
    };
    const connections: number[] = [];
    const same = certificate('same');
    for (const status of [{ token: 'a' }, { token: 'b' }, same, same, certificate('other'), { token: 'a' }]) {
      const content = { apiVersion: 'client.authentication.k8s.io/v1', status };
      await writeFile(join(folder, 'answer'), JSON.stringify(content));
      config.invalidate();
      await namespaces(config);
      connections.push(cluster.stats.connections);
    }
    // The pool without a certificate is kept.
    assert.deepEqual(connections, [1, 1, 2, 2, 3, 3]);
    assert.deepEqual([...cluster.stats.byIdentity.keys()], ['a', 'b', 'same', 'other']);
  });
});
