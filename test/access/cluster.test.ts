import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeconfigCluster } from '../../src/access/cluster-profile.ts';
import { caData } from '../fixtures/ca.ts';
import { refusal, refused, resolveCluster, server } from '../fixtures/resolving.ts';

describe('cluster', () => {
  test('is required', () => {
    refused(undefined, 'CLUSTER_INVALID', '');
    // @ts-expect-error not an object
    assert.equal(refusal(() => resolveCluster('text')).code, 'CLUSTER_INVALID');
  });

  test('has every field honoured', () => {
    const { cluster, ignored } = resolveCluster({
      server,
      'certificate-authority-data': caData,
      'tls-server-name': 'kubernetes.default',
      'proxy-url': 'socks5://proxy.example.dev:1080',
      'disable-compression': true,
    });
    assert.deepEqual(cluster, {
      server,
      certificateAuthorityData: caData,
      tlsServerName: 'kubernetes.default',
      insecureSkipTlsVerify: false,
      proxyUrl: 'socks5://proxy.example.dev:1080',
      disableCompression: true,
    });
    assert.deepEqual(ignored, []);
  });

  test('treats null and empty text as absent', () => {
    const nulls = { 'proxy-url': null, 'insecure-skip-tls-verify': null, extensions: null };
    const { cluster } = resolveCluster({ server, 'tls-server-name': '', ...nulls });
    assert.deepEqual(cluster, { server, insecureSkipTlsVerify: false, disableCompression: false });
  });

  test('cannot have fields of the wrong type', () => {
    refused({ server: 1 }, 'CLUSTER_INVALID', '.server');
    refused({ server, 'insecure-skip-tls-verify': 'true' }, 'CLUSTER_INVALID', '.insecure-skip-tls-verify');
    refused({ server, 'disable-compression': 1 }, 'CLUSTER_INVALID', '.disable-compression');
    refused({ server, extensions: {} }, 'CLUSTER_INVALID', '.extensions');
    refused({ server, extensions: [{ extension: 1 }] }, 'CLUSTER_INVALID', '.extensions[0].name');
    refused({ server, 'tls-server-name': 'a b' }, 'CLUSTER_INVALID', '.tls-server-name');
  });

  test('reports certificate-authority and unknown fields as ignored', () => {
    const { ignored } = resolveCluster({ server, 'certificate-authority': '/etc/ca.pem', token: 'x' });
    assert.deepEqual(ignored.map(({ path }) => path).sort(), [
      'status.accessProviders[0].cluster.certificate-authority',
      'status.accessProviders[0].cluster.token',
    ]);
  });
});

describe('cluster.server', () => {
  for (const [given, resolved] of [
    ['https://h', 'https://h'],
    ['https://h/', 'https://h'],
    ['HTTPS://h:6443', 'https://h:6443'],
    ['https://connectgateway.example.com/v1/projects/1/', 'https://connectgateway.example.com/v1/projects/1'],
    ['https://[::1]:6443', 'https://[::1]:6443'],
  ] as const) {
    test(`${given} is ${resolved}`, () => assert.equal(resolveCluster({ server: given }).cluster.server, resolved));
  }

  for (const bad of [
    undefined,
    'h',
    'h:443',
    'https://',
    'https:///x',
    'https:/h',
    'https:\\\\h',
    'https://h\\@x',
    'https://a b',
    'https://h\n',
    'https://h:99999',
    'ftp://h',
    'https://h?',
    'https://h#',
  ]) {
    test(`${JSON.stringify(bad)} is refused`, () => {
      refused({ server: bad }, 'SERVER_INVALID', '.server');
    });
  }

  test('must not hold a user or password, and the error does not show it', () => {
    const error = refused({ server: 'https://user:hunter2@h' }, 'SERVER_INVALID', '.server');
    assert.ok(!error.message.includes('hunter2'));
  });

  test('http:// is refused without allowInsecureTLS, and with it on anything but loopback', () => {
    const error = refused({ server: 'http://127.0.0.1:8080' }, 'SERVER_INSECURE', '.server');
    assert.match(error.message, /allowInsecureTLS: true on provider google/);
    refused({ server: 'http://h' }, 'SERVER_INSECURE', '.server', { allowInsecureTLS: true });
    for (const server of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1']) {
      assert.equal(resolveCluster({ server }, { allowInsecureTLS: true }).cluster.server, server);
    }
  });
});

describe('TLS', () => {
  test('insecure-skip-tls-verify is refused, with an error that says how to allow it', () => {
    const cluster: KubeconfigCluster = { server, 'insecure-skip-tls-verify': true };
    const error = refused(cluster, 'SERVER_INSECURE', '.insecure-skip-tls-verify');
    assert.match(error.message, /set allowInsecureTLS: true on provider google/);
    assert.equal(resolveCluster(cluster, { allowInsecureTLS: true }).cluster.insecureSkipTlsVerify, true);
  });

  test('a CA beside insecure-skip-tls-verify is an error', () => {
    const cluster = { server, 'insecure-skip-tls-verify': true, 'certificate-authority-data': caData };
    refused(cluster, 'CA_INVALID', '.certificate-authority-data', { allowInsecureTLS: true });
  });

  test('line breaks in the base64 of a CA are passed over', () => {
    const wrapped = caData.replace(/.{64}/g, '$&\n');
    const { cluster } = resolveCluster({ server, 'certificate-authority-data': wrapped });
    assert.equal(cluster.certificateAuthorityData, caData);
  });

  const hello = '-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----';
  for (const [what, data] of [
    ['is unpadded base64', 'YWJjZA'],
    ['is not PEM', Buffer.from('hello').toString('base64')],
    ['is PEM of something that is no certificate', Buffer.from(hello).toString('base64')],
  ] as const) {
    test(`a CA that ${what} is an error`, () => {
      refused({ server, 'certificate-authority-data': data }, 'CA_INVALID', '.certificate-authority-data');
    });
  }
});

describe('proxy-url', () => {
  const other = ['ftp://p', 'socks4://p', 'p:8080', 'http://'];
  for (const bad of [...other, 'http://user@p', 'http://u:hunter2@p', 'http://a b']) {
    test(`${bad} is refused`, () => {
      const error = refused({ server, 'proxy-url': bad }, 'PROXY_INVALID', '.proxy-url');
      assert.ok(!error.message.includes('hunter2'));
    });
  }
});
