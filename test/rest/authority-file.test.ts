// A certificate authority that is replaced while the process runs: client-go reads its file again too (1.36, ClientsAllowCARotation).
import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { request } from 'undici';
import { type KubeconfigOptions, RestConfig } from '../../src/index.ts';
import { readDefault } from '../../src/rest/from-kubeconfig.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { createH2Server } from '../fixtures/config-at.ts';
import { kubeconfig, namespaces } from '../fixtures/kubeconfigs.ts';
import { listen } from '../fixtures/listen.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';

const [before, after] = [createCertificateAuthority('before'), createCertificateAuthority('after')];
type Authority = typeof before;
const issue = (authority: Authority) => {
  const { certificate, key } = authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'] });
  return { cert: certificate, key };
};

const answers = (config: RestConfig) =>
  namespaces(config).then(
    () => true,
    () => false,
  );

/** A server, and a folder with the authority's file: `ca.crt`. */
async function start(t: TestContext) {
  const folder = await temporaryFolder(t);
  let connections = 0;
  const server = createH2Server((stream, headers) => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    if (headers[':path']?.includes('watch')) stream.write('begins\n');
    else stream.end('{"items":[]}');
  });
  server.setSecureContext(issue(before));
  server.on('tlsClientError', () => undefined);
  server.on('session', () => (connections += 1));
  const { port, open } = await listen(t, server);
  const breakOff = () => {
    for (const socket of open) socket.destroy();
  };
  const file = join(folder, 'ca.crt');
  await writeFile(file, before.certificate);
  const clock = { now: 0 };
  const logged: string[] = [];
  const log = (_fields: object, message: string) => logged.push(message);
  const options: KubeconfigOptions = { clock: () => clock.now, logger: { warn: log, info: log } };
  const url = `https://127.0.0.1:${port}`;
  /** A minute later somebody asks, and the file is read behind that request. */
  const later = async (config: RestConfig) => {
    clock.now += 60_001;
    await namespaces(config).catch(() => undefined);
  };
  return {
    file,
    folder,
    url,
    logged,
    options,
    later,
    connections: () => connections,
    /** The server shows a certificate of this authority from now on. */
    show: (authority: Authority) => server.setSecureContext(issue(authority)),
    breakOff,
    load: (user: object = {}) => {
      const text = kubeconfig({ cluster: { server: url, 'certificate-authority': file }, exec: null, user });
      const config = RestConfig.fromKubeConfig({ text }, options);
      t.after(() => config.close());
      return config;
    },
  };
}

const pair = before.issue({ commonName: 'me', client: true });
const base64 = (text: string) => Buffer.from(text).toString('base64');
const users = {
  'a token': { token: 'static' },
  'a certificate': { 'client-certificate-data': base64(pair.certificate), 'client-key-data': base64(pair.key) },
  'no credential': {},
};

describe("a cluster's authority in a file", () => {
  for (const [what, user] of Object.entries(users)) {
    test(`is read again: new connections trust the new one, and what is under way goes on (${what})`, async (t) => {
      const { show, load, file, later, url, breakOff, connections } = await start(t);
      const config = load(user);
      const { body } = await request(`${url}/api?watch=true`, { dispatcher: config.dispatcher });
      const seen: string[] = [];
      body.on('data', (chunk) => seen.push(String(chunk))).on('error', (error) => seen.push(error.message));
      show(after);
      await writeFile(file, after.certificate);
      await until(t, async () => {
        await later(config);
        return connections() === 2;
      });
      assert.deepEqual(seen, ['begins\n']);
      breakOff();
      assert.equal(await namespaces(config), 0);
      // The old one is trusted no more.
      show(before);
      breakOff();
      await assert.rejects(namespaces(config), { code: 'TLS_UNTRUSTED' });
    });
  }

  test('that is read again and has not changed opens no connection', async (t) => {
    const { load, later, connections } = await start(t);
    const config = load();
    for (let minute = 0; minute < 5; minute++) await later(config);
    assert.equal(connections(), 1);
  });

  for (const [what, spoil] of [
    ['is gone', (file: string) => rm(file)],
    ['is half written', (file: string) => writeFile(file, after.certificate.slice(0, 300))],
    ['holds a key', (file: string) => writeFile(file, pair.key)],
  ] as const) {
    test(`that ${what} is warned about once, and the one before serves on until it is mended`, async (t) => {
      const { load, later, file, logged, breakOff, show } = await start(t);
      const config = load();
      assert.equal(await namespaces(config), 0);
      await spoil(file);
      await until(t, async () => {
        await later(config);
        return logged.length > 0;
      });
      await later(config);
      breakOff();
      assert.equal(await namespaces(config), 0);
      const once = /^[^\n]*certificate-authority: \S*ca\.crt [^\n]*; what was read before serves on$/;
      assert.match(logged.join('\n'), once);
      // As a careful writer does it.
      await writeFile(`${file}.next`, after.certificate);
      await rename(`${file}.next`, file);
      show(after);
      breakOff();
      await until(t, async () => {
        await later(config);
        return answers(config);
      });
      assert.match(logged.join('\n'), /the authority's file can be used again/);
    });
  }

  test('of a pod is followed too', async (t) => {
    const { folder, file, url, options, later, show, breakOff } = await start(t);
    await writeFile(join(folder, 'token'), 'mine');
    const { hostname, port } = new URL(url);
    const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    const config = RestConfig.create(
      readDefault(options, { env, kubeconfig: () => undefined, serviceAccount: folder }),
    );
    t.after(() => config.close());
    assert.equal(await namespaces(config), 0);
    show(after);
    breakOff();
    await assert.rejects(namespaces(config), { code: 'TLS_UNTRUSTED' });
    await writeFile(file, after.certificate);
    await later(config);
    await until(t, () => answers(config));
  });
});
