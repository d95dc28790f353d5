import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { Attach, Cp, Exec, Log, PortForward, type V1Status } from '@kubernetes/client-node';
import type { PluginAnswer } from '../../src/testing/index.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { startPodServer } from '../fixtures/pod-server.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

async function startPods(t: TestContext, answer?: PluginAnswer) {
  const server = await startPodServer(t);
  const plugin = await startPlugin(t, answer);
  const profile = { metadata: { name: 'p' }, status: { accessProviders: [{ name: 'fake', cluster: server.cluster }] } };
  const config = startProviders(t, plugin).getConfig(profile);
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
  test('Exec: streams both ways, and the status at the end', async (t) => {
    const { exec, server } = await startPods(t);
    const command = ['sh', '-c', 'cat; echo problem >&2; exit 3'];
    assert.deepEqual(await exec(command, 'hello'), { stdout: 'hello', stderr: 'problem\n', status: 'Failure' });
    assert.deepEqual(server.identities, ['token-1']);
  });

  test('Exec: a megabyte comes back whole', async (t) => {
    const { exec } = await startPods(t);
    const megabyte = 'x'.repeat(1024 * 1024);
    assert.equal((await exec(['cat'], megabyte)).stdout, megabyte);
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
    const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
    t.after(() => echo.close());
    await once(echo, 'listening');
    const { port } = echo.address() as AddressInfo; // it listens
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

describe('a handshake', () => {
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
