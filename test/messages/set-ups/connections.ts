import type { TestContext } from 'node:test';
import { createCertificateAuthority } from '../../../src/testing/index.ts';
import { startDeadServer } from '../../fixtures/dead-server.ts';
import { startCluster } from '../../fixtures/fleet.ts';
import { clusterOf } from '../../fixtures/kubeconfigs.ts';
import { startHttpProxy } from '../../fixtures/proxies.ts';
import { print } from '../../fixtures/script.ts';
import { startTlsServer } from '../../fixtures/tls-server.ts';
import { configWith, listWith, type SetUps } from '../set-up.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const authority = createCertificateAuthority('own-ca');

/** A server with a certificate of its own. */
async function listAt(t: TestContext, certificate: object, more: Readonly<Record<string, unknown>> = {}) {
  const issued = authority.issue({ commonName: 'api', ipAddresses: ['127.0.0.1'], ...certificate });
  const { url } = await startTlsServer(t, issued);
  const ca = { 'certificate-authority-data': base64(authority.certificate) };
  return listWith(t, { cluster: { server: url, ...ca, ...more } });
}

async function silent(t: TestContext, silence: 'TLS' | 'HTTP/1.1') {
  const { profile } = await startDeadServer(t, silence);
  return profile.status?.accessProviders?.[0]?.cluster as Readonly<Record<string, unknown>>;
}

const withoutLogin = (url: string) => url.replace(/\/\/.*@/, '//');

/** The network, TLS and what the server answers. */
export const connections: SetUps = {
  'the server is down': (t) => listWith(t, { cluster: { server: 'https://127.0.0.1:1' } }),
  'the host is not known': (t) => listWith(t, { cluster: { server: 'https://no-such-host.invalid' } }),
  'the server does not answer': async (t) =>
    listWith(t, { cluster: await silent(t, 'TLS'), options: { connectTimeoutMs: 250 } }),
  'a request takes too long': async (t) =>
    listWith(t, { cluster: await silent(t, 'HTTP/1.1'), options: { requestTimeoutMs: 250 } }),
  'the server hangs up': async (t) => {
    const cluster = await startCluster(t);
    cluster.failNext('reset', 100);
    const config = await configWith(t, { cluster: clusterOf(cluster) });
    // A GET would be tried for ten seconds.
    return config.fetch('/api/v1/namespaces', { method: 'POST', body: '{}' });
  },
  'the server is signed by itself, and the profile has no authority': (t) =>
    listAt(t, {}, { 'certificate-authority-data': undefined }),
  'the profile has the authority of another cluster': (t) =>
    listAt(t, {}, { 'certificate-authority-data': base64(createCertificateAuthority('other-ca').certificate) }),
  "the server's certificate is for another name": (t) => listAt(t, { ipAddresses: [], dnsNames: ['api.example.dev'] }),
  "the server's certificate has expired": (t) =>
    listAt(t, { notBefore: new Date('2020-01-01'), notAfter: new Date('2021-01-01') }),
  "the server's certificate is for clients": (t) => listAt(t, { client: true }),
  "the server's key is too weak": (t) => listAt(t, { rsaBits: 1024 }),
  'the server speaks no TLS': async (t) => {
    const { url } = await startCluster(t, { insecureHttp: true });
    return listWith(t, { cluster: { server: url.replace('http:', 'https:') } });
  },
  'the proxy is down': (t) => listWith(t, { cluster: { 'proxy-url': 'http://127.0.0.1:1' } }),
  'the proxy asks for a login': async (t) =>
    listWith(t, { cluster: { 'proxy-url': withoutLogin((await startHttpProxy(t, { login: 'a:b' })).url) } }),
  'the proxy refuses': async (t) =>
    listWith(t, { cluster: { 'proxy-url': (await startHttpProxy(t, { refuse: 403 })).url } }),
  'the server refuses the token': (t) => listWith(t, { answer: { token: 'of another cluster' } }),
  'the server refuses the token, and the refresh fails': async (t) => {
    const cluster = await startCluster(t);
    const failing = `if [ "$(wc -l < "$DIR/runs")" -gt 1 ]; then echo 'the issuer is away' >&2; exit 1; fi`;
    return listWith(t, { cluster: clusterOf(cluster), script: `${failing}\n${print({ token: 'old' })}` });
  },
  'the client certificate has expired': (t) => {
    const dates = { notBefore: new Date('2020-01-01'), notAfter: new Date('2021-01-01') };
    const { certificate, key } = authority.issue({ commonName: 'me', client: true, ...dates });
    return listWith(t, { answer: { clientCertificateData: certificate, clientKeyData: key } });
  },
  'the server forbids the request': async (t) => {
    const cluster = await startCluster(t);
    cluster.failNext({ status: 403, message: 'namespaces is forbidden: User "me" cannot list resource "namespaces"' });
    return listWith(t, { cluster: clusterOf(cluster) });
  },
  'the server redirects to another one': async (t) => {
    const cluster = await startCluster(t);
    cluster.failNext({ redirect: 'https://elsewhere.example.dev/' });
    return (await configWith(t, { cluster: clusterOf(cluster) })).fetch('/version');
  },
  'a header cannot be sent': async (t) => {
    const { access, dispatcher } = await configWith(t);
    return dispatcher.request({
      origin: access.cluster.server,
      method: 'GET',
      path: '/',
      headers: { 'x-bad': 'a\nb' },
    });
  },
  'a list is too long': (t) => listWith(t, { options: { maxResponseBytes: 100 } }),
};
