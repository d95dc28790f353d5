import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { AuthenticationV1Api, KubeConfig } from '@kubernetes/client-node';
import { Agent, fetch } from 'undici';
import { createCertificateAuthority, FakeCluster } from '../../src/testing/index.ts';
import { startApi } from '../fixtures/api.ts';

describe('FakeCluster', () => {
  test('believes a certificate of its own authority before a token, and neither of others', async (t) => {
    await using cluster = await FakeCluster.start({ tokens: { good: 'by-token' } });
    const send = async (token: string, authority = cluster.certificateAuthority, client = false) => {
      const pair = authority.issue({ commonName: 'by-certificate', client: true });
      const identity = client ? { cert: pair.certificate, key: pair.key } : {};
      const agent = new Agent({ connect: { ca: cluster.certificateAuthority.certificate, ...identity } });
      t.after(() => agent.close());
      const response = await fetch(`${cluster.url}/version`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token}` },
      });
      await response.arrayBuffer();
      return response.status;
    };
    assert.equal(await send('good'), 200);
    assert.equal(await send('bad'), 401);
    assert.equal(await send('good', cluster.certificateAuthority, true), 200);
    assert.equal(await send('bad', createCertificateAuthority(), true), 401);
    assert.deepEqual(Object.fromEntries(cluster.stats.byIdentity), { 'by-token': 1, 'by-certificate': 1 });
    assert.equal(cluster.stats.unauthorized, 2);
  });

  test('gives a kubeconfig for each of its tokens', async () => {
    await using cluster = await FakeCluster.start({ tokens: { a: 'first', b: 'second' } });
    const userOf = async (kubeconfig: string) => {
      const config = new KubeConfig();
      config.loadFromString(kubeconfig);
      const { status } = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
      return status?.userInfo?.username;
    };
    assert.equal(await userOf(cluster.kubeconfig()), 'first');
    assert.equal(await userOf(cluster.kubeconfig('b')), 'second');
  });

  test('breaks a connection off as it is told, and restarts on its port', async (t) => {
    await using cluster = await FakeCluster.start({ tokens: { good: 'me' } });
    // A connection for each request: one that the restart broke must not be used again.
    const get = async (path: string) => {
      const agent = new Agent({ connect: { ca: cluster.certificateAuthority.certificate } });
      t.after(() => agent.destroy());
      return fetch(`${cluster.url}${path}`, { dispatcher: agent, headers: { authorization: 'Bearer good' } });
    };
    cluster.failNext('reset');
    await assert.rejects(get('/readyz'));
    const { url } = cluster;
    await cluster.restart();
    assert.equal(cluster.url, url);
    assert.equal(await (await get('/readyz')).text(), 'ok');
    assert.equal((await get('/nothing')).status, 404);
    assert.equal((await get('//[')).status, 404);
  });
});

describe('what a test does to a cluster', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'made' }, data: {} };
  const profile = (name: string, spec: object, more: object = {}) => ({
    apiVersion: 'multicluster.x-k8s.io/v1alpha1',
    kind: 'ClusterProfile',
    metadata: { name, ...more },
    spec,
    status: { version: { kubernetes: 'v1' } },
  });

  test('stores objects as they are, over a restart too, and gives copies of them', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(secret);
    assert.ok(
      cluster.get({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made' } }),
      'the namespace is made',
    );
    const given = profile('p', { text: 'a' }, { uid: 'u-1', finalizers: ['example.com/x'], generation: 4 });
    cluster.add(given);
    given.spec = { text: 'b' };
    const stored = cluster.get(given);
    assert.deepEqual(
      [stored?.spec, stored?.status, stored?.metadata.uid, stored?.metadata.generation],
      [{ text: 'a' }, given.status, 'u-1', 4],
    );
    await cluster.restart();
    assert.deepEqual((await send('GET', '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles')).body.items, [stored]);
    cluster.set({ ...profile('p', { text: 'a' }), status: {} });
    assert.equal(cluster.get(given)?.metadata.generation, 4);
    cluster.set(profile('p', { text: 'c' }));
    const changed = cluster.get(given);
    assert.deepEqual(
      [changed?.metadata.uid, changed?.metadata.generation, changed?.metadata.finalizers],
      ['u-1', 5, undefined],
    );
    assert.equal(changed?.metadata.creationTimestamp, stored?.metadata.creationTimestamp);
    cluster.set(profile('q', {}, { finalizers: ['example.com/x'] }));
    assert.deepEqual(
      cluster.list({ apiVersion: given.apiVersion, kind: given.kind }).map(({ metadata }) => metadata.name),
      ['p', 'q'],
    );
    assert.deepEqual(cluster.list({ apiVersion: given.apiVersion, kind: given.kind, namespace: 'made' }), []);
    cluster.delete(profile('q', {}));
    assert.equal(cluster.get(profile('q', {})), undefined);
    cluster.delete({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made' } });
    assert.equal(cluster.get(secret), undefined, 'a namespace takes what is in it along');
  });

  test('is an error at once where it cannot be', async (t) => {
    const { cluster } = await startApi(t);
    cluster.add(secret);
    assert.throws(() => cluster.add(secret), /there is a Secret made\/a already/);
    assert.throws(() => cluster.delete({ ...secret, metadata: { name: 'b' } }), /there is no Secret default\/b/);
    assert.throws(() => cluster.add({ ...secret, kind: 'Secrets' }), /no kind Secrets in apiVersion v1/);
    assert.throws(() => cluster.add({ ...secret, metadata: { name: '' } }), /needs metadata.name/);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', namespace: 'default' } };
    assert.throws(() => cluster.add(node), /a Node is in no namespace/);
  });

  test('adds objects in a time that does not grow with those that are there', async (t) => {
    const { cluster } = await startApi(t);
    const count = 2_000;
    const times = Array.from({ length: 10 }, (_, batch) => {
      const objects = Array.from({ length: count }, (_, index) => ({
        ...secret,
        metadata: { name: `s-${batch}-${index}`, labels: { a: 'b' } },
      }));
      const before = process.cpuUsage();
      cluster.add(objects);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    const [first = 0] = times;
    // Else the last ones would take twenty times as long.
    assert.ok(Math.min(...times.slice(-3)) < 5 * first + 50, `${times} ms of CPU`);
  });
});

describe('failNext', () => {
  test('answers with the reason that belongs to a status, and with Retry-After where Kubernetes does', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.failNext(429, 2);
    for (let round = 0; round < 2; round++) {
      const { code, body, headers } = await send('GET', '/version');
      assert.deepEqual(
        [code, body.reason, body.details.retryAfterSeconds, headers['retry-after']],
        [429, 'TooManyRequests', 1, '1'],
      );
    }
    cluster.failNext({ status: 503, retryAfterSeconds: 7, message: 'later' });
    const { code, body, headers } = await send('GET', '/version');
    assert.deepEqual(
      [code, body.reason, body.message, headers['retry-after']],
      [503, 'ServiceUnavailable', 'later', '7'],
    );
    cluster.failNext(500);
    assert.equal((await send('GET', '/version')).headers['retry-after'], undefined);
    assert.equal((await send('GET', '/version')).code, 200);
  });

  test('with a filter waits for the requests that it is for', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.failNext(403, 1, ({ method, url }) => method === 'GET' && url.startsWith('/api/v1/namespaces'));
    assert.equal((await send('GET', '/version')).code, 200);
    assert.equal((await send('GET', '/api/v1/namespaces')).code, 403);
    assert.equal((await send('GET', '/api/v1/namespaces')).code, 200);
  });
});

describe('onRequest', () => {
  test('that throws is a 500 that says what it threw, and the cluster goes on', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.onRequest = () => {
      throw new Error('unexpected request');
    };
    const { code, body } = await send('GET', '/version');
    assert.equal(code, 500);
    assert.match(body.message, /threw: unexpected request$/);
    cluster.onRequest = () => {};
    assert.equal((await send('GET', '/version')).code, 200);
  });
});

describe('createCertificateAuthority', () => {
  test('issues certificates for names and addresses, for a time, that its own certificate verifies', () => {
    const authority = createCertificateAuthority('ca');
    const notAfter = new Date(Date.UTC(2060, 0));
    const { certificate } = authority.issue({
      commonName: 'x',
      organizations: ['o'],
      dnsNames: ['a.b'],
      ipAddresses: ['127.0.0.1', '::1'],
      notAfter,
    });
    const leaf = new X509Certificate(certificate);
    const root = new X509Certificate(authority.certificate);
    assert.ok(root.ca && !leaf.ca && leaf.verify(root.publicKey) && leaf.checkIssued(root));
    assert.equal(leaf.checkHost('a.b'), 'a.b');
    assert.equal(leaf.checkIP('127.0.0.1'), '127.0.0.1');
    assert.equal(leaf.validToDate.getTime(), notAfter.getTime());
    assert.equal(leaf.subject, 'O=o\nCN=x');
  });
});

describe('a client that breaks off', () => {
  test('in the middle of a body is no concern of the server, over either version of HTTP', async (t) => {
    for (const http2 of [true, false]) {
      await using cluster = await FakeCluster.start({ http2, tokens: { good: 'me' } });
      const agent = new Agent({ connect: { ca: cluster.certificateAuthority.certificate }, allowH2: http2 });
      t.after(() => agent.destroy());
      const controller = new AbortController();
      const seen = new Promise<void>((resolve) => {
        cluster.onRequest = () => resolve();
      });
      async function* body() {
        yield Buffer.from('{"metadata":');
        await seen;
        controller.abort();
        yield Buffer.from('{"name":');
      }
      const headers = { authorization: 'Bearer good', 'content-type': 'application/json' };
      const url = `${cluster.url}/api/v1/namespaces`;
      const post = fetch(url, {
        method: 'POST',
        body: body(),
        duplex: 'half',
        headers,
        dispatcher: agent,
        signal: controller.signal,
      });
      await assert.rejects(post, { name: 'AbortError' });
      const { status } = await fetch(url, { headers, dispatcher: agent });
      assert.equal(status, 200);
    }
  });
});
