// A program in a project of its own, with the client-node that the project has. Its argument is the checkout, for a server of pods.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CoreV1Api, Exec, KubeConfig, KubernetesObjectApi, Log, makeInformer, Watch } from '@kubernetes/client-node';
import { CredentialProviders, toKubeConfig } from 'clusterprofile-credentials';
import { FakeCluster, writePlugin } from 'clusterprofile-credentials/testing';

const { startPodServer } = await import(new URL('test/fixtures/pod-server.ts', pathToFileURL(`${process.argv[2]}/`)));
const ends = [];
const after = (end) => ends.push(end);

const plugin = await writePlugin({ token: 'token-1' });
const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command };
const providers = new CredentialProviders([{ name: 'a', execConfig }], { logger: { warn: () => {} } });
const configFor = (cluster) =>
  providers.getConfig({ metadata: { name: 'spoke' }, status: { accessProviders: [{ name: 'a', cluster }] } });
const until = async (isSo) => {
  for (let i = 0; !(await isSo()); i++) {
    assert.ok(i < 600, String(isSo));
    await setTimeout(50);
  }
};

// Generated clients, an informer and a watch, through rotations.
const cluster = await FakeCluster.start({ tokens: { 'token-1': 'me' } });
const { url: server, certificateAuthorityData, certificateAuthority } = cluster;
const restConfig = configFor({ server, 'certificate-authority-data': certificateAuthorityData });
const config = toKubeConfig(restConfig, KubeConfig);
assert.ok(config instanceof KubeConfig);
const core = config.makeApiClient(CoreV1Api);
// Before 1.0 the answer has the response beside its body, and parameters have no names.
const itemsOf = (answer) => (answer.body ?? answer).items;
const create = (body) =>
  core.createNamespace.length > 2 ? core.createNamespace(body) : core.createNamespace({ body });
// As an issuer does: the next token is there before the server refuses the last one.
const rotate = async (token) => {
  await plugin.answer({ token });
  cluster.setTokens({ [token]: 'me' });
};
assert.equal(itemsOf(await core.listNamespace()).length, 2);
const seen = new Set();
const informer = makeInformer(config, '/api/v1/namespaces', () => core.listNamespace());
informer.on('add', ({ metadata }) => seen.add(metadata.name));
await informer.start();
await rotate('token-2');
await create({ metadata: { name: 'made' } });
await until(() => seen.has('made'));
await rotate('token-3');
assert.equal(itemsOf(await KubernetesObjectApi.makeApiClient(config).list('v1', 'Namespace')).length, 3);
await rotate('token-4');
const watched = [];
const watch = await new Watch(config).watch(
  '/api/v1/namespaces',
  {},
  (type, { metadata }) => watched.push([type, metadata.name]),
  () => {},
);
await until(() => watched.length === 3);
watch.abort();
await informer.stop();

// Client certificates.
for (const commonName of ['first', 'second']) {
  const { certificate, key } = certificateAuthority.issue({ commonName, client: true });
  await plugin.answer({ clientCertificateData: certificate, clientKeyData: key });
  restConfig.invalidate();
  assert.equal(itemsOf(await core.listNamespace()).length, 3);
  assert.equal(cluster.stats.byIdentity.get(commonName), 1);
}

// Logs and WebSockets.
const pods = await startPodServer({ after });
await plugin.answer({ token: 'token-1' });
restConfig.invalidate();
const podConfig = toKubeConfig(configFor(pods.cluster), KubeConfig);
const log = new PassThrough();
await new Log(podConfig).log('ns', 'pod', 'main', log, {});
assert.equal(await text(log), '{}');
const run = async (command) => {
  const output = new PassThrough();
  await new Exec(podConfig).exec('ns', 'pod', 'main', command, output, null, null, false, () => output.end());
  return text(output);
};
assert.equal(await run(['echo', 'one']), 'one\n');
await plugin.answer({ token: 'token-5' });
pods.setTokens('token-5');
await assert.rejects(run(['echo', 'refused']), { code: 'UPGRADE_REFUSED' });
assert.equal(await run(['echo', 'two']), 'two\n');

// What a request fails with, and users.
assert.throws(() => config.getCurrentUser(), /config\.credential/);
await plugin.answer({ exitCode: 1 });
restConfig.invalidate();
await assert.rejects(core.listNamespace(), ({ message, cause }) =>
  /ClusterProfile spoke.* failed with exit code 1/.test(cause?.message ?? message),
);

await providers.close();
await plugin.remove();
await cluster.close();
for (const end of ends) await end();
console.log('works');
