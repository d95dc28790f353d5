import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { CredentialProviders } from '../../src/index.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { lifetimeOf, programs } from './fixture.ts';
import { kinds, startSpoke } from './spoke.ts';

describe('kubectl', () => {
  test('takes what exportConfig gives, plugin, arguments and extension', async (t) => {
    const life = lifetimeOf(t);
    const { plane, plugin } = await startSpoke(life, 'kubectl', kinds.token);
    const execConfig = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin.command,
      args: ['--from-operator'],
      provideClusterInfo: true,
    } as const;
    const providers = new CredentialProviders([{ name: 'x', execConfig }]);
    life.after(() => providers.close());
    const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'kubectl' } }];
    const cluster = { server: plane.server, 'certificate-authority-data': plane.certificateAuthorityData, extensions };
    const config = providers.getConfig({
      metadata: { name: 'spoke' },
      status: { accessProviders: [{ name: 'x', cluster }] },
    });
    const folder = await temporaryFolder(t);
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, config.exportConfig());
    const { stdout } = await execa(join(programs, 'kubectl'), [
      '--kubeconfig',
      kubeconfig,
      'auth',
      'whoami',
      '-o',
      'json',
    ]);
    assert.equal(JSON.parse(stdout).status.userInfo.username, 'system:serviceaccount:default:controller');
    const theirs = await plugin.lastInput();
    assert.deepEqual(await plugin.lastArgs(), ['--from-operator']);
    // What kubectl told the plugin is what we tell it.
    await config.ready();
    assert.deepEqual(await plugin.lastInput(), theirs);
  });
});
