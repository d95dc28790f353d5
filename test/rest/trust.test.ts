// Which servers and proxies are believed: what a profile names, the roots of the machine, and nobody else.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import type { ClusterProfile, PluginError, RestConfig } from '../../src/index.ts';
import { issueWith } from '../../src/testing/certificates.ts';
import { createCertificateAuthority, type IssuedCertificate, type PluginAnswer } from '../../src/testing/index.ts';
import { startPlugin, startProviders } from '../fixtures/fleet.ts';
import { writeInput } from '../fixtures/program.ts';
import { startHttpProxy, startSocksProxy } from '../fixtures/proxies.ts';
import { statusOf } from '../fixtures/requests.ts';
import { echo, startTlsServer } from '../fixtures/tls-server.ts';

const authority = createCertificateAuthority('authority');
const stranger = createCertificateAuthority('stranger');
const base64 = (...pem: readonly string[]) => Buffer.from(pem.join('\n')).toString('base64');
const loopback = { commonName: 'server', ipAddresses: ['127.0.0.1'] };

function profileOf(cluster: object & { readonly server: string }): ClusterProfile {
  return { metadata: { name: 'spoke' }, status: { accessProviders: [{ name: 'fake', cluster }] } };
}

/** Configs for clusters that share one credential. */
async function startConfigs(t: TestContext, answer?: PluginAnswer) {
  const providers = startProviders(t, await startPlugin(t, answer));
  return (cluster: object & { readonly server: string }) => providers.getConfig(profileOf(cluster));
}

/** The ways that a connection can go: what a profile says of the proxy. */
const routes: Readonly<Record<string, (t: TestContext) => Promise<object>>> = {
  directly: async () => ({}),
  'through an http proxy': async (t) => ({ 'proxy-url': (await startHttpProxy(t)).url }),
  'through a socks5 proxy': async (t) => ({ 'proxy-url': (await startSocksProxy(t)).url }),
};

/** A request and a WebSocket; each has to have the same outcome. */
const ways: Readonly<Record<string, (config: RestConfig, url: string) => Promise<unknown>>> = {
  request: async ({ dispatcher }, url) => assert.equal(await statusOf(url, { dispatcher }), 200),
  WebSocket: async (config, url) => assert.equal(await echo(config, url, 'hello'), 'hello'),
};

/** Not every error of OpenSSL's has a code. */
const refusedFor = (reason: RegExp) => (error: Error) => {
  assert.match(`${Reflect.get(error, 'code')}: ${error.message}`, reason);
  return true;
};

describe('a leaf as certificate-authority-data', () => {
  const leaf = authority.issue(loopback);
  const issuedByLeaf = issueWith({ key: leaf.key, commonName: loopback.commonName }, loopback);
  const signed = { certificate: issuedByLeaf.certificate + leaf.certificate, key: issuedByLeaf.key };
  const only = base64(leaf.certificate);
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
  const expired = authority.issue({ ...loopback, notBefore: daysAgo(2), notAfter: daysAgo(1) });
  const selfSigned = authority.issue({ commonName: 'self' });
  const cases: readonly (readonly [string, IssuedCertificate, string, true | RegExp])[] = [
    ["vouches for the server's own certificate", leaf, only, true],
    ['may stand beside others', leaf, base64(stranger.certificate, leaf.certificate), true],
    ['vouches for no other leaf of its authority', authority.issue(loopback), only, /ISSUER|VERIFY/],
    ['vouches for nothing that is signed with its key', signed, only, /certificate signing/],
    ['has to be for the name that is asked for', selfSigned, base64(selfSigned.certificate), /TLS_NAME_MISMATCH/],
    ['has to be valid still', expired, base64(expired.certificate), /EXPIRED/],
  ];
  for (const [what, certificate, data, expected] of cases) {
    test(what, async (t) => {
      const { url } = await startTlsServer(t, certificate);
      const configFor = await startConfigs(t);
      for (const [route, start] of Object.entries(routes)) {
        const cluster = { server: url, 'certificate-authority-data': data, ...(await start(t)) };
        const config = configFor(cluster);
        for (const [way, go] of Object.entries(ways)) {
          if (expected === true) await go(config, url);
          else await assert.rejects(go(config, url), refusedFor(expected), `${way} ${route}`);
        }
      }
    });
  }

  test('vouches for no https proxy', async (t) => {
    const { url } = await startTlsServer(t, leaf);
    const proxy = await startHttpProxy(t, { certificate: authority.issue(loopback) });
    const cluster = { server: url, 'certificate-authority-data': base64(leaf.certificate), 'proxy-url': proxy.url };
    const config = (await startConfigs(t))(cluster);
    for (const go of Object.values(ways)) {
      await assert.rejects(go(config, url), { code: 'PROXY_FAILED', message: /its certificate is refused/ });
    }
    assert.deepEqual(proxy.targets, []);
  });
});

describe('the name that is verified', () => {
  const data = base64(authority.certificate);
  for (const [what, certificate, more, expected] of [
    ['is the address of the server', { ipAddresses: ['127.0.0.1'] }, {}, true],
    ['is the address of the server, whatever names it has', { dnsNames: ['127.0.0.1'] }, {}, false],
    ['is tls-server-name where there is one', { dnsNames: ['k8s'] }, { 'tls-server-name': 'k8s' }, true],
    ['is tls-server-name alone', { ipAddresses: ['127.0.0.1'] }, { 'tls-server-name': 'k8s' }, false],
    ['may be an address in tls-server-name', { ipAddresses: ['10.0.0.1'] }, { 'tls-server-name': '10.0.0.1' }, true],
    ['is not the address of the server then', { ipAddresses: ['127.0.0.1'] }, { 'tls-server-name': '10.0.0.1' }, false],
  ] as const) {
    test(what, async (t) => {
      const { url } = await startTlsServer(t, authority.issue({ commonName: 'x', ...certificate }));
      const configFor = await startConfigs(t);
      for (const start of Object.values(routes)) {
        const cluster = { server: url, 'certificate-authority-data': data, ...more, ...(await start(t)) };
        const config = configFor(cluster);
        for (const go of Object.values(ways)) {
          if (expected) await go(config, url);
          else await assert.rejects(go(config, url), { code: 'TLS_NAME_MISMATCH' });
        }
      }
    });
  }

  test('is an IPv6 address without its brackets and port, for WebSockets too', async (t) => {
    // The proxy knows every address as this machine.
    const { port } = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['fd00:1::2'] }));
    const other = await startTlsServer(t, authority.issue({ commonName: 'x', ipAddresses: ['fd00:1::3'] }));
    const configFor = await startConfigs(t);
    for (const proxy of [await startHttpProxy(t), await startSocksProxy(t)]) {
      const serverAt = (at: number) => `https://[fd00:1::2]:${at}`;
      const trusted = { 'certificate-authority-data': data, 'proxy-url': proxy.url };
      const config = configFor({ server: serverAt(port), ...trusted });
      const wrong = configFor({ server: serverAt(other.port), ...trusted });
      for (const go of Object.values(ways)) {
        await go(config, serverAt(port));
        await assert.rejects(go(wrong, serverAt(other.port)), { code: 'TLS_NAME_MISMATCH' });
      }
      assert.equal(proxy.targets[0], `[fd00:1::2]:${port}`);
    }
  });
});

describe("a plugin's certificate", () => {
  const { certificate, key } = authority.issue({ commonName: 'me', client: true });
  const weak = authority.issue({ commonName: 'me', client: true, rsaBits: 1024 });
  const broken = certificate.replace(/\n.{64}\n/, `\n${'A'.repeat(64)}\n`);
  const pair = (clientCertificateData: string, clientKeyData = key) => ({ clientCertificateData, clientKeyData });
  const answers: Readonly<Record<string, readonly [PluginAnswer, PluginError['code'], RegExp]>> = {
    'that is too weak': [
      pair(weak.certificate, weak.key),
      'ANSWER_CERTIFICATE_REFUSED',
      /certificate that OpenSSL refuses \(ee key too small\): issue one .*RSA of 2048 bits or more/,
    ],
    'whose chain is broken': [pair(certificate + broken), 'ANSWER_CERTIFICATE_REFUSED', /that OpenSSL refuses/],
    'whose chain is cut off': [
      pair(certificate + certificate.slice(0, 60)),
      'ANSWER_CERTIFICATE_REFUSED',
      /certificate that OpenSSL refuses \(bad end line\).* and a whole chain/,
    ],
    'that is garbage': [pair(broken), 'ANSWER_FIELD_INVALID', /certificate that is not PEM/],
    'that does not fit its key': [pair(certificate, weak.key), 'ANSWER_KEY_MISMATCH', /key that does not fit/],
  };
  for (const [what, [answer, code, message]] of Object.entries(answers)) {
    test(`${what} is an error of the plugin's for whoever asks`, async (t) => {
      const { url, open } = await startTlsServer(t, authority.issue(loopback));
      const cluster = { server: url, 'certificate-authority-data': base64(authority.certificate) };
      const config = (await startConfigs(t, answer))(cluster);
      for (const go of [...Object.values(ways), () => config.ready()])
        await assert.rejects(go(config, url), { name: 'PluginError', code, message });
      assert.equal(open.size, 0);
    });
  }
});

test("without an authority in the profile Node's roots, NODE_EXTRA_CA_CERTS and the system's count for servers, and for https proxies in any case", async (t) => {
  const [extra, system] = [createCertificateAuthority('extra'), createCertificateAuthority('system')];
  const serverOf = async (root: typeof extra) => (await startTlsServer(t, root.issue(loopback))).url;
  const proxyOf = async (root: typeof extra) =>
    (await startHttpProxy(t, { certificate: root.issue({ ...loopback, commonName: 'proxy' }) })).url;
  const other = { 'certificate-authority-data': base64(authority.certificate) };
  const clusters = {
    'a server of an extra root': { server: await serverOf(extra) },
    "a server of the system's": { server: await serverOf(system) },
    'a server of a root that nobody has named': { server: await serverOf(stranger) },
    'an extra root where the profile names another': { server: await serverOf(extra), ...other },
    "the system's root where the profile names another": { server: await serverOf(system), ...other },
    'a proxy of an extra root': { server: await serverOf(authority), 'proxy-url': await proxyOf(extra), ...other },
    "a proxy of the system's": { server: await serverOf(authority), 'proxy-url': await proxyOf(system), ...other },
    'a proxy of a strange root': {
      server: await serverOf(authority),
      'proxy-url': await proxyOf(stranger),
      ...other,
    },
  };
  const plugin = await startPlugin(t);
  const program = `
    import { request } from 'undici';
    import { CredentialProviders } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: ${JSON.stringify(plugin.command)} };
    const providers = new CredentialProviders([{ name: 'fake', execConfig }], { logger: { warn() {} } });
    const outcomes = {};
    for (const [name, cluster] of Object.entries(${JSON.stringify(clusters)})) {
      const config = providers.getConfig({ status: { accessProviders: [{ name: 'fake', cluster }] } });
      const reached = request(cluster.server, { dispatcher: config.dispatcher });
      outcomes[name] = await reached.then(({ statusCode }) => statusCode, ({ code }) => code);
    }
    console.log(JSON.stringify(outcomes));
    await providers.close();`;
  const NODE_EXTRA_CA_CERTS = await writeInput(t, 'extra.pem', extra.certificate);
  const SSL_CERT_FILE = await writeInput(t, 'system.pem', system.certificate);
  const env = { ...process.env, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR: '/nowhere' };
  const cwd = new URL('../..', import.meta.url);
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', program], { env, cwd });
  const refused = 'TLS_UNTRUSTED';
  assert.deepEqual(JSON.parse(stdout), {
    'a server of an extra root': 200,
    "a server of the system's": 200,
    'a server of a root that nobody has named': refused,
    'an extra root where the profile names another': refused,
    "the system's root where the profile names another": refused,
    'a proxy of an extra root': 200,
    "a proxy of the system's": 200,
    'a proxy of a strange root': 'PROXY_FAILED',
  });
});
