// What the program `clusterprofile` gives to other clients: kubeconfigs and credentials, used by a real kubectl and by client-go.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { programEnvironment, runProgram, writeInput } from '../fixtures/program.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { publish, registerCrd } from './crd.ts';
import { accessBy, clusterOf, lifetimeOf, operatorFile, programs, providerFile, startPlane } from './fixture.ts';
import { goBuild } from './go-programs.ts';
import { kinds, startSpoke } from './spoke.ts';

describe('a kubeconfig and credentials of clusterprofile', () => {
  test('lead kubectl and client-go to each cluster, and a command to all of them', async (t) => {
    const life = lifetimeOf(t);
    const [hub, one, two] = await Promise.all([
      startPlane(life, 'hub'),
      startSpoke(life, 'one', kinds.token),
      startSpoke(life, 'two', kinds['expiring-certificate']),
    ]);
    await registerCrd(hub);
    const stranger = await shellPlugin(t, print({ token: 'of-nobody' }));
    await publish(hub, 'one', accessBy('token', clusterOf(one.plane)));
    await publish(hub, 'two', accessBy('certificate', clusterOf(two.plane)));
    await publish(hub, 'refused', accessBy('stranger', clusterOf(two.plane)));
    const commands = {
      token: one.plugin.command,
      certificate: two.plugin.command,
      stranger: stranger.command,
    };
    const flags = ['--clusterprofile-provider-file', await providerFile(t, commands)];
    const home = await temporaryFolder(t);
    const env = { ...programEnvironment(home), KUBECONFIG: await operatorFile(t, hub) };
    const config = join(home, 'config');
    const kubectl = (...args: string[]) =>
      execa(join(programs, 'kubectl'), args, { env: { ...env, KUBECONFIG: config }, extendEnv: false, reject: false });

    // kubectl has written the file before, and writes it afterwards.
    await kubectl('config', 'set-cluster', 'lab', '--server=https://lab.example.com');
    const merged = await runProgram(t, ['kubeconfig', '--merge', config, ...flags], { env });
    assert.deepEqual([merged.exitCode, merged.stderr], [0, `${config}: 3 contexts added, 0 updated`]);
    await kubectl('config', 'set-context', 'lab', '--cluster=lab');
    const again = await runProgram(t, ['kubeconfig', '--merge', config, ...flags], { env });
    assert.equal(again.stderr, `${config}: 0 contexts added, 0 updated`);
    const contexts = await kubectl('config', 'get-contexts', '-o', 'name');
    const names = ['default/one@c', 'default/refused@c', 'default/two@c', 'lab'];
    assert.deepEqual(contexts.stdout.split('\n').sort(), names);

    const whoAmI = async (context: string) => {
      const { stdout, stderr } = await kubectl('--context', context, 'auth', 'whoami', '-o', 'json');
      assert.notEqual(stdout, '', stderr);
      return JSON.parse(stdout).status.userInfo.username;
    };
    assert.equal(await whoAmI('default/one@c'), 'system:serviceaccount:default:controller');
    assert.equal(await whoAmI('default/two@c'), 'controller');
    const refused = await kubectl('--context', 'default/refused@c', 'get', 'namespaces');
    assert.match(refused.stderr, /Unauthorized|must be logged in|provide credentials/);

    const folder = await temporaryFolder(t);
    await goBuild(fileURLToPath(new URL('./access/', import.meta.url)), './bench', join(folder, 'client-go'));
    for (const name of ['one', 'two']) {
      const { stdout } = await runProgram(t, ['kubeconfig', name, ...flags], { env });
      // Lists namespaces, or fails: the file, requests, workers, rounds.
      await execa(join(folder, 'client-go'), [await writeInput(t, name, stdout), '2', '1', '1']);
    }

    const TMPDIR = await temporaryFolder(t);
    const everywhere = ['exec', ...flags, '--', join(programs, 'kubectl'), 'get', 'namespace', 'default', '-o', 'name'];
    const { stdout, stderr, exitCode } = await runProgram(t, everywhere, { env: { ...env, TMPDIR } });
    const lines = stdout.split('\n').sort();
    assert.deepEqual(lines, ['default/one     | namespace/default', 'default/two     | namespace/default'], stderr);
    assert.match(stderr, /^default\/refused \| .*(?:Unauthorized|logged in|credentials)/m);
    assert.match(stderr, /^3 clusters: 2 ok, 1 failed\n {2}default\/refused: exit code 1$/m);
    assert.equal(exitCode, 20);
    assert.deepEqual(await readdir(TMPDIR), []);
    assert.ok(!(await readFile(config, 'utf8')).includes('of-nobody'));
  });
});
