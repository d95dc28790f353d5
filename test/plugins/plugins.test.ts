// What the shipped plugins say without a cluster; with one, and beside those of the Go library, they are in test/e2e.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

function run(name: string, args: readonly string[], config?: unknown) {
  const spec = { interactive: false, cluster: { server: 'https://h', config } };
  const info = { kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', spec };
  const program = fileURLToPath(new URL(`../../src/plugins/${name}.ts`, import.meta.url));
  const env = { KUBECONFIG: '/nowhere', KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  return execa(process.execPath, [program, ...args], { env, reject: false });
}

describe('secretreader', () => {
  test('explains itself', async () => {
    assert.match((await run('secretreader', ['--help'])).stdout, /^Usage: secretreader /);
  });

  for (const [args, message] of [
    [['--token'], /^secretreader: Unknown option '--token'.* \(--help explains\)$/],
    [['--expiration-seconds', 'abc'], /^secretreader: --expiration-seconds must be a whole number of 600 or more/],
    [['--expiration-seconds', '60'], /600 or more/],
  ] as const) {
    test(`refuses ${args.join(' ')} in one line`, async () => {
      const { exitCode, stdout, stderr } = await run('secretreader', args, { clusterName: 'x' });
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.match(stderr, message);
    });
  }

  test('says what the profile lacks', async () => {
    assert.match(
      (await run('secretreader', [], null)).stderr,
      /^missing ExecCredential.Spec.Cluster.Config: set provide/,
    );
    assert.match((await run('secretreader', [], {})).stderr, /^missing clusterName in/);
    assert.match((await run('secretreader', [], { clusterName: 7 })).stderr, /clusterName must be text$/);
  });
});

describe('kubeconfig-secretreader', () => {
  test('explains itself', async () => {
    assert.match((await run('kubeconfig-secretreader', ['-h'])).stdout, /^Usage: kubeconfig-secretreader/);
  });

  test('says what the profile lacks', async () => {
    assert.match((await run('kubeconfig-secretreader', [], { key: 'k' })).stderr, /^missing name in/);
    assert.match((await run('kubeconfig-secretreader', [], { name: 'n' })).stderr, /^missing key in/);
  });
});
