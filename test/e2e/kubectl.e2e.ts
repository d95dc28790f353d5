import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '../fixtures/script.ts';
import { lifetimeOf, programs } from './fixture.ts';
import { configFor, kinds, startSpoke } from './spoke.ts';

describe('kubectl', () => {
  test('takes what exportConfig gives, plugin, arguments and extension', async (t) => {
    const life = lifetimeOf(t);
    const { plane, plugin } = await startSpoke(life, 'kubectl', kinds.token);
    const exec = { command: plugin.command, args: ['--from-operator'], provideClusterInfo: true };
    const config = configFor(life, plane, exec, [
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'kubectl' } },
    ]);
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
