import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigurationError, RestConfig } from '../../src/index.ts';
import { caData } from '../fixtures/ca.ts';
import { kubeconfig, problemsOf } from '../fixtures/kubeconfigs.ts';
import { thrownBy } from '../fixtures/thrown.ts';

const twoAuthorities = { cluster: { 'certificate-authority': '/ca', 'certificate-authority-data': caData } };
const certificate = { 'client-certificate': '/c', 'client-certificate-data': 'YQ==', 'client-key': '/k' };
const twoCertificates = { user: certificate };
const unverified = { cluster: { 'insecure-skip-tls-verify': true, 'certificate-authority-data': caData } };
const unreadable = { cluster: { 'certificate-authority': '/nowhere/ca' } };
const ftp = { cluster: { 'proxy-url': 'ftp://p' } };
const authProvider = { user: { 'auth-provider': { name: 'gcp' } } };
const nameless = { exec: { env: [{ name: '', value: 'x' }] } };
const token = { user: { token: 't', username: 'u' } };
const twoExtensions = { cluster: { extensions: [{ name: 'a' }, { name: 'a' }] } };
const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { n: 'N' } }];
const long = kubeconfig({ cluster: { extensions } }).replace('"N"', '12345678901234567890');
const bobs = [{ name: 'bob' }, { name: 'bob' }];

describe('a kubeconfig that cannot be used', () => {
  for (const [name, parts, message] of [
    ['is no YAML', '{', /^kubeconfig: line 1: is neither JSON nor YAML/],
    ['is empty', '', /is empty/],
    ['is a list', '[]', /must be an object/],
    ['has no context', { more: { 'current-context': '' } }, /line 1: current-context: is missing \(found: c\)/],
    ['has two users of one name', { more: { users: bobs } }, /users\[1\]\.name: "bob" duplicates users\[0\]/],
    ['has no server', { cluster: { server: '' } }, /clusters\[0\]\.cluster\.server: is missing/],
    ['has a server without a scheme (A.8)', { cluster: { server: 'h:443' } }, /is not an absolute https:\/\/ URL/],
    ['is something else', { more: { kind: 'Pod' } }, /kind: must be Config: this is no kubeconfig/],
    ['is of another version', { more: { apiVersion: 'v2' } }, /apiVersion: must be v1/],
    ['has an entry without a name', { more: { users: [{ name: '' }] } }, /names "bob", .* \(found: none\)/],
    ['has two authorities', twoAuthorities, /e-authority: cannot be combined with certificate-authority-data/],
    ['has two certificates', twoCertificates, /client-certificate: cannot be combined with client-certificate-data/],
    ['has an auth-provider', { exec: null, user: { 'auth-provider': { name: 'oidc' } } }, /is not supported: use exec/],
    ['has the same key twice', kubeconfig({}).replace('"kind"', '"kind":"Config","kind"'), /same key is given twice/],
    ['has an authority and no verification (L.89)', unverified, /cannot be combined with insecure-skip-tls-verify/],
    ['has an authority that cannot be read (C.28)', unreadable, /\/nowhere\/ca cannot be read \(ENOENT\)/],
    ['has an ftp proxy (A.13)', ftp, /proxy-url: must be an http:\/\/, https:\/\/ or socks5:\/\/ URL/],
    ['has an auth-provider beside exec (A.4)', authProvider, /auth-provider: cannot be combined with exec/],
    ['has no command (A.4)', { exec: { command: '' } }, /users\[0\]\.user\.exec\.command: must be/],
    ['has no version (A.4)', { exec: { apiVersion: '' } }, /users\[0\]\.user\.exec\.apiVersion: must be one of/],
    ['has a variable without a name (A.4)', nameless, /env\[0\]\.name: is an empty name/],
    ['has an exec of nothing (A.6)', { user: { exec: {} } }, /exec\.apiVersion: .*[\s\S]*exec\.command: /],
    ['has a token and a user name (A.7)', token, /username: cannot be combined with a token/],
    ['has a certificate without a key', { user: { 'client-certificate': '/c' } }, /is set without client-key/],
    ['has a key that is no base64', { user: { 'client-key-data': '%' } }, /client-key-data: is not base64/],
    ['has groups and nobody to impersonate', { user: { 'as-groups': ['g'] } }, /user\.as: is missing/],
    ['has two extensions of one name (A.11)', twoExtensions, /extensions\[1\].name: "a" duplicates .*extensions\[0\]/],
    ['has a number that lost digits', long, /extension\.n: is an integer beyond 2\^53/],
  ] as const) {
    test(`because it ${name} is refused, with the place`, () => assert.match(problemsOf(parts), message));
  }

  test('is reported with every problem at once, and its lines', () => {
    const text = [
      'current-context: c',
      'contexts: [{name: c, context: {cluster: k, user: u}}]',
      'clusters:',
      '- name: k',
      '  cluster: {server: "https://h", proxy-url: 5}',
      'users:',
      '- name: u',
      '  user:',
      '    exec: {apiVersion: v9, args: {}}',
      '    as-groups: x',
    ].join('\n');
    const message = problemsOf(text);
    assert.match(message, /^kubeconfig: 5 problems:/);
    assert.match(message, /line 5: clusters\[0\]\.cluster\.proxy-url: /);
    assert.match(message, /line 9: users\[0\]\.user\.exec\.args: /);
    assert.match(message, /line 10: users\[0\]\.user\.as-groups: /);
  });

  test('is reported with what is wrong with its user and its cluster, where one of them is no object at all', () => {
    const message = problemsOf({
      more: { users: [{ name: 'bob', user: [] }], clusters: [{ name: 'k', cluster: { server: 'x' } }] },
    });
    assert.match(message, /users\[0\]\.user: [\s\S]*clusters\[0\]\.cluster\.server: is not an absolute https/);
  });

  test('or is not named by one option is said at once, as is an option that is misspelt', () => {
    for (const [source, options, words] of [
      [{}, {}, 'must be { path }, { paths } or { text, directory }'],
      [{ path: 'x', text: '' }, {}, 'must be { path }, '],
      [{ pat: 'x' }, {}, 'pat: is not a field of the source'],
      [{ path: '' }, {}, "path: must be a file's path, not empty"],
      [{ text: kubeconfig({}) }, { pluginTimeoutMS: 1 }, 'did you mean pluginTimeoutMs?'],
    ] as const) {
      const load = () => Reflect.apply(RestConfig.fromKubeConfig, RestConfig, [source, options]);
      const { code, message } = thrownBy(ConfigurationError, load);
      assert.equal(code, 'OPTION_INVALID');
      assert.ok(message.includes(words), message);
    }
  });
});
