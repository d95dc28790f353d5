import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { type EnvVar, PluginError } from '../../src/index.ts';
import { execCredential } from '../fixtures/clouds.ts';
import { profileFor, startCluster, startProviders } from '../fixtures/fleet.ts';
import { writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const folder = fileURLToPath(new URL('../../examples/plugins/', import.meta.url));

describe('examples/plugins', () => {
  /** A config whose plugin is one of the examples, told of the cluster by the exec extension. */
  async function start(t: TestContext, plugin: string, env: readonly EnvVar[], extension: object) {
    const cluster = await startCluster(t, { tokens: { 'a-token': 'me' } });
    const command = join(folder, plugin);
    await chmod(command, 0o755);
    const providers = startProviders(t, { command }, {}, { execConfig: { env, provideClusterInfo: true } });
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension }];
    return providers.getConfig(profileFor(cluster, { extensions }));
  }

  test('token-folder.ts: the one to copy gives the token of the cluster that the profile names', async (t) => {
    const tokens = await temporaryFolder(t);
    await writeFile(join(tokens, 'spoke-1'), 'a-token\n');
    const env = [{ name: 'TOKEN_FOLDER', value: tokens }];
    const config = await start(t, 'token-folder.ts', env, { clusterName: 'spoke-1' });
    assert.equal((await config.makeApiClient(CoreV1Api).listNamespace()).items.length, 2);
  });

  test('token-folder.ts: a name that leads out of the folder is refused, and the error says why', async (t) => {
    const env = [{ name: 'TOKEN_FOLDER', value: await temporaryFolder(t) }];
    const config = await start(t, 'token-folder.ts', env, { clusterName: '../etc/passwd' });
    await assert.rejects(config.ready(), (error: unknown) => {
      assert.ok(error instanceof PluginError && error.code === 'PLUGIN_FAILED');
      assert.match(error.stderr ?? '', /^the profile has no usable clusterName/);
      return true;
    });
  });

  test('token-folder.ts: without its setting it says which', async (t) => {
    const config = await start(t, 'token-folder.ts', [], { clusterName: 'spoke-1' });
    await assert.rejects(config.ready(), /set TOKEN_FOLDER to the folder that holds the tokens/);
  });

  test("spire-agent-jwt.ts: gives the JWT-SVID that SPIRE's agent prints, until it ends, for the audience that the profile names", async (t) => {
    const agent = join(await temporaryFolder(t), 'spire-agent');
    const payload = Buffer.from(JSON.stringify({ exp: 2_000_000_000 })).toString('base64url');
    const script = `[ "$5" = nobody ] || printf 'token(spiffe://d/x):\\n\\t%s\\n' "h.${payload}.$5"`;
    await writeFile(agent, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const run = (...args: string[]) => {
      const env = { SPIRE_AGENT: agent, KUBERNETES_EXEC_INFO: JSON.stringify(execCredential()) };
      return execa(process.execPath, [join(folder, 'spire-agent-jwt.ts'), ...args], { env, reject: false });
    };
    const [good, none, wrong] = await Promise.all([
      run('-audience', 'spoke-1'),
      run('-audience', 'nobody'),
      run('-socketPath', '/x'),
    ]);
    assert.deepEqual(JSON.parse(good.stdout).status, {
      token: `h.${payload}.spoke-1`,
      expirationTimestamp: '2033-05-18T03:33:20Z',
    });
    assert.match(none.stderr, /gave no JWT-SVID: check whether an entry for this pod is registered/);
    assert.match(wrong.stderr, /have to be -audience and whom the token is for/);
  });

  test('token-file.sh: answers in the version that was asked for, whatever the extension holds', async (t) => {
    const file = await writeInput(t, 'token', 'a-token\n');
    const config = { apiVersion: 'client.authentication.k8s.io/v7', kind: 'Typed' };
    for (const apiVersion of ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']) {
      const info = { kind: 'ExecCredential', apiVersion, spec: { cluster: { server: 'https://h', config } } };
      for (const KUBERNETES_EXEC_INFO of [JSON.stringify(info), JSON.stringify(info, undefined, 2)]) {
        const { stdout } = await execa(join(folder, 'token-file.sh'), [file], { env: { KUBERNETES_EXEC_INFO } });
        assert.deepEqual(JSON.parse(stdout), { kind: 'ExecCredential', apiVersion, status: { token: 'a-token' } });
      }
    }
  });

  test('token-file.sh: says what it lacks', async (t) => {
    const file = await writeInput(t, 'token', 'a-token\n');
    const run = (args: readonly string[], env: Record<string, string>) =>
      execa(join(folder, 'token-file.sh'), args, { env, reject: false });
    assert.match((await run([], {})).stderr, /usage: token-file.sh FILE/);
    assert.match((await run([file], { KUBERNETES_EXEC_INFO: '' })).stderr, /this is a credential plugin/);
    const other = await run([file], { KUBERNETES_EXEC_INFO: '{"apiVersion":"v1"}' });
    assert.deepEqual([other.exitCode, other.stdout], [1, '']);
    assert.match(other.stderr, /has no apiVersion of this protocol/);
  });
});
