import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  Attach,
  CoreV1Api,
  Cp,
  Exec,
  Health,
  KubernetesObjectApi,
  Log,
  Metrics,
  makeInformer,
  PortForward,
  type V1Status,
  Watch,
} from '@kubernetes/client-node';
import { type CredentialProvidersOptions, RequestError } from '../../src/index.ts';
import type { PluginAnswer } from '../../src/testing/index.ts';
import { startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { listen } from '../fixtures/listen.ts';
import { startPodServer } from '../fixtures/pod-server.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

async function startPods(t: TestContext, answer?: PluginAnswer, options?: CredentialProvidersOptions) {
  const server = await startPodServer(t);
  const plugin = await startPlugin(t, answer);
  const profile = { metadata: { name: 'p' }, status: { accessProviders: [{ name: 'fake', cluster: server.cluster }] } };
  const config = startProviders(t, plugin, options).getConfig(profile);
  /** Runs a command in the pod, with an input, to its end. */
  const exec = async (command: string[], input?: string) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const stdin = input === undefined ? null : Readable.from([input]);
    let status: V1Status | undefined;
    await new Exec(config).exec('ns', 'pod', 'main', command, stdout, stderr, stdin, false, (said) => {
      status = said;
    });
    // The status is what ends the streams.
    const outputs = { stdout: await text(stdout), stderr: await text(stderr) };
    return { ...outputs, status: status?.status };
  };
  return { server, plugin, config, exec };
}

describe('a pod', () => {
  test('Exec: streams a megabyte both ways, and the status at the end', async (t) => {
    const { exec, server } = await startPods(t);
    const command = ['sh', '-c', 'cat; echo problem >&2; exit 3'];
    const stdout = 'x'.repeat(1024 * 1024);
    assert.deepEqual(await exec(command, stdout), { stdout, stderr: 'problem\n', status: 'Failure' });
    assert.deepEqual(server.identities, ['token-1']);
  });

  test('Attach: input goes in, output comes out', async (t) => {
    const { config } = await startPods(t);
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const socket = await new Attach(config).attach('ns', 'pod', 'main', stdout, null, stdin, false);
    stdin.write('typed');
    assert.equal(String((await once(stdout, 'data'))[0]), 'typed');
    socket.close();
  });

  test('PortForward: bytes reach a port behind the cluster and come back', async (t) => {
    const { config } = await startPods(t);
    const echo = createServer((socket) => socket.pipe(socket));
    const { port } = await listen(t, echo);
    const [output, input] = [new PassThrough(), new PassThrough()];
    const socket = await new PortForward(config).portForward('ns', 'pod', [port], output, null, input);
    input.write('ping');
    assert.equal(String((await once(output, 'data'))[0]), 'ping');
    assert.ok(!(typeof socket === 'function'));
    socket.close();
  });

  test('Cp: a folder goes into the pod and comes out of it', async (t) => {
    const { config } = await startPods(t);
    const folder = await temporaryFolder(t);
    for (const name of ['from', 'pod', 'back']) await mkdir(join(folder, name));
    await writeFile(join(folder, 'from', 'file'), 'content');
    const cp = new Cp(config);
    await cp.cpToPod('ns', 'pod', 'main', join(folder, 'from'), join(folder, 'pod'));
    await until(t, async () => (await readFile(join(folder, 'pod', 'file'), 'utf8').catch(() => '')) === 'content');
    await cp.cpFromPod('ns', 'pod', 'main', 'file', join(folder, 'back'), join(folder, 'pod'));
    await until(t, async () => (await readFile(join(folder, 'back', 'file'), 'utf8').catch(() => '')) === 'content');
  });

  test('Log with follow: lines come while the stream is open', async (t) => {
    const { config, server } = await startPods(t);
    const out = new PassThrough();
    await new Log(config).log('ns', 'pod', 'main', out, { follow: true });
    assert.equal(String((await once(out, 'data'))[0]), 'line 1\n');
    server.log('line 2');
    assert.equal(String((await once(out, 'data'))[0]), 'line 2\n');
    server.endLogs();
    await once(out, 'end');
  });
});

test('every class and function of client-node that takes a KubeConfig takes a RestConfig', async (t) => {
  const { config } = await startPods(t);
  const { config: ofCluster } = await startFleet(t);
  const output = () => new PassThrough();
  const ignore = () => undefined;
  const [name, folder] = [['ns', 'pod', 'main'] as const, await temporaryFolder(t)];
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    Attach: async () => (await new Attach(config).attach(...name, output(), null, output(), false)).close(),
    Cp: () => new Cp(config).cpFromPod(...name, '.', folder, folder),
    Exec: () => new Exec(config).exec(...name, 'true', output(), null, null, false),
    Health: async () => assert.equal(await new Health(config).readyz({}), true),
    Log: () => new Log(config).log(...name, output()),
    Metrics: () => new Metrics(config).getNodeMetrics(),
    PortForward: () => new PortForward(config).portForward('ns', 'pod', [1], output(), null, output()),
    Watch: async () => (await new Watch(ofCluster).watch('/api/v1/namespaces', {}, ignore, ignore)).abort(),
    makeInformer: async () => {
      const list = () => ofCluster.makeApiClient(CoreV1Api).listNamespace();
      const informer = makeInformer(ofCluster, '/api/v1/namespaces', list);
      await informer.start();
      assert.equal(informer.list().length, 2);
      await informer.stop();
    },
    KubernetesObjectApi: async () => {
      const { items } = await KubernetesObjectApi.makeApiClient(ofCluster).list('v1', 'Namespace');
      assert.equal(items.length, 2);
    },
  };
  // The list is complete, says client-node itself.
  const dist = dirname(fileURLToPath(import.meta.resolve('@kubernetes/client-node')));
  const index = await readFile(join(dist, 'index.d.ts'), 'utf8');
  const taking: string[] = [];
  for (const [, module = ''] of index.matchAll(/export \* from '\.\/([a-z]+)\.js'/g)) {
    const text = await readFile(join(dist, `${module}.d.ts`), 'utf8');
    for (const declaration of text.split('export declare ').filter((part) => /\w+: KubeConfig[,)]/.test(part)))
      taking.push(/^(?:class|function) (\w+)/.exec(declaration)?.[1] ?? declaration);
  }
  assert.deepEqual(new Set(taking.filter((one) => one !== 'KubeConfig')), new Set(Object.keys(calls)));
  for (const call of Object.values(calls)) await call();
});

describe('a handshake', () => {
  const status = (message: string) => {
    const body = JSON.stringify({ kind: 'Status', message });
    return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  };
  for (const [what, statusCode, rest, reason, retryable] of [
    ['a Status', 403, status('pods "pod" is forbidden'), ': pods "pod" is forbidden', false],
    ['no body', 503, 'Content-Length: 0\r\n\r\n', '', true],
    ['a body of another length', 502, 'Connection: close\r\nContent-Length: 2\r\n\r\n{} and more', '', true],
    ['a page of HTML', 404, 'Content-Length: 6\r\n\r\n<html>', '', false],
    ['a body without an end', 500, 'Content-Length: 9\r\n\r\n{', '', true],
    ['a very long body', 429, `Content-Length: 300000\r\n\r\n${' '.repeat(300_000)}`, '', true],
  ] as const) {
    test(`that is refused with ${what} rejects with an error that names the cluster and the answer`, async (t) => {
      const { server, config, exec } = await startPods(t);
      server.refuse(statusCode, rest);
      const error: unknown = await exec(['true']).catch((reason: unknown) => reason);
      assert.ok(error instanceof RequestError, String(error));
      const path = '/api/v1/namespaces/ns/pods/pod/exec';
      const where = `ClusterProfile p, ${config.access.cluster.server}`;
      assert.equal(error.message, `${where}: the WebSocket for ${path} was answered with ${statusCode}${reason}`);
      assert.deepEqual([error.code, error.statusCode, error.retryable], ['UPGRADE_REFUSED', statusCode, retryable]);
      server.refuse();
      assert.equal((await exec(['true'])).status, 'Success');
    });
  }

  test('that breaks off rejects with an error that names the cluster', async (t) => {
    const { server, exec } = await startPods(t);
    server.refuse(101, 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n');
    await assert.rejects(exec(['true']), { code: 'CONNECTION_LOST', message: /^ClusterProfile p, https:/ });
  });

  test('whose credential is refused is warned about once, and said to be over when one is taken', async (t) => {
    const log: string[] = [];
    const as = (level: string) => (_fields: object, line: string) => log.push(`${level} ${line}`);
    const { server, exec } = await startPods(t, undefined, { logger: { warn: as('warn'), info: as('info') } });
    server.setTokens();
    for (let i = 0; i < 3; i++) await assert.rejects(exec(['true']), { code: 'UPGRADE_REFUSED', statusCode: 401 });
    assert.equal(log.length, 1, log.join('\n'));
    assert.match(log[0] ?? '', /^warn ClusterProfile p, .*the server refuses the credential \(401\), for a WebSocket/);
    server.setTokens('token-1');
    await exec(['true']);
    assert.match(log[1] ?? '', /^info .* the server takes the credential again$/);
  });

  test('that gets a 401 has the next one use a new credential', async (t) => {
    const { server, plugin, exec } = await startPods(t);
    await exec(['true']);
    server.setTokens('token-2');
    await plugin.answer({ token: 'token-2' });
    await assert.rejects(exec(['true']));
    assert.equal((await exec(['true'])).status, 'Success');
    assert.deepEqual(server.identities, ['token-1', 'token-2']);
    assert.equal(await plugin.runs(), 2);
  });

  test('after a rotation has the new certificate', async (t) => {
    const { server, plugin, config, exec } = await startPods(t);
    for (const commonName of ['first', 'second', 'third']) {
      const { certificate, key } = server.certificateAuthority.issue({ commonName, client: true });
      await plugin.answer({ clientCertificateData: certificate, clientKeyData: key });
      config.invalidate();
      await exec(['true']);
    }
    assert.deepEqual(server.identities, ['first', 'second', 'third']);
    assert.deepEqual(server.unauthorized, []);
  });
});
