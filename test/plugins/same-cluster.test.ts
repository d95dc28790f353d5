import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Cluster, mismatch } from '../../src/plugins/read-kubeconfig-secret.ts';
import { createCertificateAuthority } from '../../src/testing/index.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const [one, two] = [createCertificateAuthority(), createCertificateAuthority()].map((ca) => ca.certificate);
const [ca, other, both] = [base64(`${one}`), base64(`${two}`), base64(`# comment\n${one}\n${two}`)];
const [proxy, noUrlHere] = ['http://proxy:3128', 'http://[fe80::1%25eth0]:3128'];
/** OpenSSL takes these for certificates, too. */
const renamed = (label: string) => base64(`${one}\n${two?.replaceAll('CERTIFICATE', label)}`);
const server = 'https://spoke-1.example.dev:6443';
const authority = (data: string) => ({ server, 'certificate-authority-data': data });
const proxied = (url: string) => ({ server, 'proxy-url': url });
const insecure = { 'insecure-skip-tls-verify': true };

describe("a kubeconfig's credential", () => {
  for (const [what, profile, kubeconfig] of [
    ['the same server', { server }, { server }],
    ['the same in another spelling', { server: 'HTTPS://h/x' }, { server: 'https://H:443/x/' }],
    ['the same authority', authority(ca), authority(ca)],
    ['the same authority in another spelling', authority(base64(`\n${one}\n\n`)), authority(ca)],
    ['fewer authorities', authority(ca), authority(both)],
    ['no authority where the kubeconfig has none', { server }, { server }],
    ["the kubeconfig's proxy", proxied(proxy), proxied('http://u:p@proxy:3128/')],
    ['the same proxy, which is no URL here', proxied(noUrlHere), proxied(noUrlHere)],
    ['no proxy where the kubeconfig has one', { server }, proxied(proxy)],
    ['the same server name', { server, 'tls-server-name': 'A' }, { server, 'tls-server-name': 'a' }],
    ['its own host as server name', { server, 'tls-server-name': 'spoke-1.example.dev' }, { server }],
    ['a kubeconfig that verifies nothing', { ...authority(other), ...insecure }, { ...authority(ca), ...insecure }],
  ] as const satisfies readonly (readonly [string, Cluster, Cluster])[]) {
    test(`is given for ${what}`, () => assert.equal(mismatch(profile, kubeconfig), undefined));
  }

  for (const [what, profile, kubeconfig, message] of [
    [
      'another host',
      { server: 'https://evil.example' },
      { server },
      /^is for https:\/\/spoke-1\.example\.dev:6443, and the profile's server is https:\/\/evil\.example$/,
    ],
    ['another port', { server: 'https://spoke-1.example.dev' }, { server }, /is for/],
    ['another path', { server: `${server}/tenants/b` }, { server: `${server}/tenants/a` }, /tenants\/a, and/],
    ['a deeper path', { server: `${server}/tenants/a/b` }, { server: `${server}/tenants/a` }, /is for/],
    ['another scheme', { server: 'http://spoke-1.example.dev:6443' }, { server }, /is for/],
    ['no URL', { server: 'spoke-1' }, { server }, /no URL/],
    ['a kubeconfig without a server', { server }, {}, /names no server/],
    ['a kubeconfig whose server is no URL', { server }, { server: '10.0.0.1' }, /names no server/],
    ['another server name', { server, 'tls-server-name': 'evil' }, { server }, /tls-server-name is evil/],
    ['its host where the kubeconfig has a name', { server }, { server, 'tls-server-name': 'inner' }, /named inner/],
    ['another authority', authority(other), authority(ca), /trusts another authority/],
    ['one authority more', authority(both), authority(ca), /trusts another authority/],
    ['no authority', { server }, authority(ca), /trusts another authority/],
    ['an authority where the kubeconfig has none', authority(ca), { server }, /names no authority, and/],
    ['an authority that is none', authority('x'), authority(ca), /cannot be compared with/],
    ['a kubeconfig whose authority is none', authority(ca), authority('x'), /trusts another authority/],
    ['one more, of another name in PEM', authority(renamed('X509 CERTIFICATE')), authority(ca), /cannot be compared/],
    ['one more, of a third name', authority(renamed('TRUSTED CERTIFICATE')), authority(ca), /cannot be compared/],
    ['a proxy where the kubeconfig has none', proxied(proxy), { server }, /names no proxy, and/],
    ['a proxy where the kubeconfig verifies nothing', proxied(proxy), { server, ...insecure }, /names no proxy, and/],
    ['another proxy', proxied('socks5://proxy:3128'), proxied(proxy), /names another proxy/],
    ['a proxy that is no URL here and may be one elsewhere', proxied(noUrlHere), { server }, /names no proxy, and/],
    [
      'another proxy where neither is a URL here',
      proxied('http://proxy.1:3128'),
      proxied('http://proxy.2:3128'),
      /names another proxy/,
    ],
    ['no verification', { server, ...insecure }, { server }, /verifies its server/],
  ] as const satisfies readonly (readonly [string, Cluster, Cluster, RegExp])[]) {
    test(`is not given for ${what}`, () => assert.match(mismatch(profile, kubeconfig) ?? '', message));
  }

  test('is not told of with what a URL holds besides its address', () => {
    const text = mismatch({ server: 'https://h' }, { server: 'https://u:secret@other?token=secret#secret' }) ?? '';
    assert.match(text, /https:\/\/other,/);
    assert.ok(!text.includes('secret'));
  });
});
