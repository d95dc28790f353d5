import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExecInfoError } from '../../src/errors/index.ts';
import { loadExecCredential } from '../../src/plugin/index.ts';

const v1 = 'client.authentication.k8s.io/v1';

describe('loadExecCredential', () => {
  test('M.103, M.108: gives the credential and, where cluster information is there, a KubeConfig without a user', async () => {
    const cluster = {
      server: 'https://h',
      'tls-server-name': 'n',
      'certificate-authority-data': 'Y2E=',
      config: { a: 1 },
    };
    const info = { kind: 'ExecCredential', apiVersion: v1, spec: { interactive: true, cluster } };
    const { credential, loadKubeConfig } = loadExecCredential(JSON.stringify(info));
    assert.deepEqual(credential, info);
    const kubeConfig = await loadKubeConfig();
    assert.equal(kubeConfig?.getCurrentCluster()?.tlsServerName, 'n');
    assert.deepEqual(kubeConfig?.getCurrentUser(), { name: 'none' });
  });

  test('M.106: gives no KubeConfig, and no error, without cluster information (differs: an error there), and takes an empty cluster', async () => {
    const { loadKubeConfig } = loadExecCredential(`{kind: ExecCredential, apiVersion: ${v1}beta1}`);
    assert.equal(await loadKubeConfig(), undefined);
    const empty = loadExecCredential(`{kind: ExecCredential, apiVersion: ${v1}, spec: {cluster: {}}}`);
    assert.equal((await empty.loadKubeConfig())?.getCurrentCluster()?.server, '');
  });

  for (const [what, data] of [
    ['that is not YAML (M.103)', '{'],
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
});
