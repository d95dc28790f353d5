import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { ExecInfoError } from '../../src/errors.ts';
import { loadExecCredential, loadExecCredentialFromEnv } from '../../src/plugin/index.ts';

const v1 = 'client.authentication.k8s.io/v1';
const module = new URL('../../src/plugin/index.ts', import.meta.url).href;

function run(handler: string, info: object | undefined) {
  const program = `import { runCredentialPlugin } from '${module}'; await runCredentialPlugin(${handler});`;
  const env = { KUBERNETES_EXEC_INFO: info ? JSON.stringify(info) : '' };
  return execa(process.execPath, ['--input-type=module', '--eval', program], { env, reject: false });
}

describe('loadExecCredential', () => {
  test('M.103, M.108: gives the credential and, where cluster information is there, a KubeConfig without a user', () => {
    const cluster = {
      server: 'https://h',
      'tls-server-name': 'n',
      'certificate-authority-data': 'Y2E=',
      config: { a: 1 },
    };
    const info = { kind: 'ExecCredential', apiVersion: v1, spec: { interactive: true, cluster } };
    const { credential, kubeConfig } = loadExecCredential(JSON.stringify(info));
    assert.deepEqual(credential, info);
    assert.equal(kubeConfig?.getCurrentCluster()?.tlsServerName, 'n');
    assert.deepEqual(kubeConfig?.getCurrentUser(), { name: 'none' });
  });

  test('M.106: gives no KubeConfig, and no error, without cluster information (differs: an error there)', () => {
    const { kubeConfig } = loadExecCredential(`{kind: ExecCredential, apiVersion: ${v1}beta1}`);
    assert.equal(kubeConfig, undefined);
  });

  for (const [what, data] of [
    ['that is not YAML (M.103)', '{'],
    ['that is half a list', '[1, '],
    ['without kind (M.104)', `{apiVersion: ${v1}}`],
    ['without a version (M.104)', '{kind: ExecCredential}'],
    ['of another kind (M.105)', `{kind: Status, apiVersion: ${v1}}`],
    ['of another version (M.104)', '{kind: ExecCredential, apiVersion: v1}'],
    [
      'with a CA that is not base64 (M.107)',
      `{kind: ExecCredential, apiVersion: ${v1}, spec: {cluster: {certificate-authority-data: "!"}}}`,
    ],
    [
      'with a CA whose base64 has no padding (M.107)',
      `{kind: ExecCredential, apiVersion: ${v1}, spec: {cluster: {certificate-authority-data: "Y2FhYQ"}}}`,
    ],
  ] as const) {
    test(`refuses text ${what}`, () => {
      assert.throws(
        () => loadExecCredential(data),
        (error) => error instanceof ExecInfoError && error.code === 'EXEC_INFO_INVALID',
      );
    });
  }

  test('M.106: takes an empty cluster, and M.102: an environment without the variable is an error', () => {
    const { kubeConfig } = loadExecCredential(`{kind: ExecCredential, apiVersion: ${v1}, spec: {cluster: {}}}`);
    assert.equal(kubeConfig?.getCurrentCluster()?.server, '');
    for (const value of [undefined, '']) {
      if (value === undefined) delete process.env.KUBERNETES_EXEC_INFO;
      else process.env.KUBERNETES_EXEC_INFO = value;
      assert.throws(loadExecCredentialFromEnv, (error: unknown) => {
        return error instanceof ExecInfoError && error.code === 'EXEC_INFO_MISSING';
      });
    }
  });
});

describe('runCredentialPlugin', () => {
  test('answers in the version that it was asked in', async () => {
    const handler = `({ spec }) => ({ token: spec.cluster.config.name, expirationTimestamp: new Date(0) })`;
    for (const apiVersion of [v1, `${v1}beta1`]) {
      const { stdout, exitCode } = await run(handler, {
        kind: 'ExecCredential',
        apiVersion,
        spec: { cluster: { server: 's', config: { name: 'x' } } },
      });
      assert.equal(exitCode, 0);
      assert.deepEqual(JSON.parse(stdout), {
        kind: 'ExecCredential',
        apiVersion,
        status: { token: 'x', expirationTimestamp: '1970-01-01T00:00:00Z' },
      });
    }
  });

  test('tells a failure on stderr, in one line, and exits with 1', async () => {
    const failed = await run(`() => { throw new Error('no token for you') }`, {
      kind: 'ExecCredential',
      apiVersion: v1,
    });
    assert.deepEqual([failed.exitCode, failed.stdout, failed.stderr], [1, '', 'no token for you']);
    const alone = await run('() => ({})', undefined);
    assert.equal(alone.exitCode, 1);
    assert.match(alone.stderr, /KUBERNETES_EXEC_INFO is not set or empty/);
  });

  const asked = { kind: 'ExecCredential', apiVersion: v1 };

  test('ends with the exit code that an error has', async () => {
    for (const [code, expected] of [
      ['3', 3],
      ['0', 1],
      ['256', 1],
      ['"x"', 1],
    ] as const) {
      const handler = `() => { throw Object.assign(new Error('log in first'), { exitCode: ${code} }); }`;
      const { exitCode, stderr } = await run(handler, asked);
      assert.deepEqual([exitCode, stderr], [expected, 'log in first']);
    }
    const { exitCode, stderr } = await run('() => { throw undefined; }', asked);
    assert.deepEqual([exitCode, stderr], [1, 'the plugin failed']);
  });

  test('prints what looks like a credential on neither stream when it fails, and keeps to one line', async () => {
    const secret = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2ln';
    const handler = `() => { throw new Error('the issuer said:\\n  Authorization: Bearer abc123\\n\\u001b[31m${secret}'); }`;
    const { exitCode, stdout, stderr } = await run(handler, asked);
    assert.deepEqual([exitCode, stdout], [1, '']);
    assert.equal(stderr, 'the issuer said: Authorization: Bearer [redacted] [redacted JWT]');
  });

  for (const [what, status, expected] of [
    ['nothing', '{}', /neither a token nor a client certificate/],
    ['an empty token', `{ token: '' }`, /neither a token nor a client certificate/],
    ['a key without its certificate', `{ token: 't', clientKeyData: 'k' }`, /a client key without its certificate/],
    ['a certificate without its key', `{ clientCertificateData: 'c' }`, /a client certificate without its key/],
    [
      'an expiry that is no time',
      `{ token: 't', expirationTimestamp: new Date('x') }`,
      /expirationTimestamp that is no/,
    ],
  ] as const) {
    test(`fails where it got ${what}, as the client would refuse it`, async () => {
      const { exitCode, stdout, stderr } = await run(`() => (${status})`, asked);
      assert.deepEqual([exitCode, stdout], [1, '']);
      assert.match(stderr, expected);
    });
  }
});
