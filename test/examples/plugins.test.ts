import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CoreV1Api } from '@kubernetes/client-node';
import { CredentialProviders, type EnvVar, PluginError } from '../../src/index.ts';
import { profileFor, startCluster } from '../fixtures/fleet.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const folder = fileURLToPath(new URL('../../examples/plugins/', import.meta.url));

describe('examples/plugins', () => {
  /** A config whose plugin is one of the examples, told of the cluster by the exec extension. */
  async function start(t: TestContext, plugin: string, env: readonly EnvVar[], extension: object) {
    const cluster = await startCluster(t, { tokens: { 'a-token': 'me' } });
    const command = join(folder, plugin);
    await chmod(command, 0o755);
    const execConfig = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command,
      env,
      provideClusterInfo: true,
    } as const;
    const providers = new CredentialProviders([{ name: 'fake', execConfig }]);
    t.after(() => providers.close());
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
});
