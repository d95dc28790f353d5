// The program `clusterprofile`, as an operator calls it, on real API servers and under a real kubectl; its kubeconfigs and
// credentials, used by kubectl and by client-go.
import assert from 'node:assert/strict';
import { chmod, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { programEnvironment, programFile, runProgram, writeInput } from '../fixtures/program.ts';
import { print, shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { publish, startHub } from './crd.ts';
import { accessBy, clusterOf, lifetimeOf, operatorFile, programs, providerFile } from './fixture.ts';
import { buildAccess } from './go-programs.ts';
import { kinds, startSpoke } from './spoke.ts';

/** A folder with kubectl's plugins, as an installation of the package has them in PATH. */
async function installedFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const name of ['clusterprofile', 'kubectl-clusterprofile', 'kubectl_complete-clusterprofile']) {
    await symlink(programFile, join(folder, `${name}.js`));
    await writeFile(join(folder, name), `#!/bin/sh\nexec '${process.execPath}' '${folder}/${name}.js' "$@"\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

test('an operator sees three clusters with get and check, under kubectl too, and leads kubectl, client-go and a command to those that take the credential', async (t) => {
  const life = lifetimeOf(t);
  const [hub, one, two] = await Promise.all([
    startHub(life),
    startSpoke(life, 'one', kinds.token),
    startSpoke(life, 'two', kinds['expiring-certificate']),
  ]);
  const stranger = await shellPlugin(t, print({ token: 'of-nobody' }));
  await publish(hub, 'one', accessBy('token', clusterOf(one.plane)), { env: 'prod' });
  await publish(hub, 'two', accessBy('certificate', clusterOf(two.plane)), { env: 'dev' });
  await publish(hub, 'refused', accessBy('stranger', clusterOf(two.plane)), { env: 'prod' });
  const commands = {
    token: one.plugin.command,
    certificate: two.plugin.command,
    stranger: stranger.command,
  };
  const flags = ['--clusterprofile-provider-file', await providerFile(t, commands)];
  const home = await temporaryFolder(t);
  const env = { ...programEnvironment(home), KUBECONFIG: await operatorFile(t, hub) };
  const kubectlWith = (variables: Readonly<Record<string, string>>, args: readonly string[]) =>
    execa(join(programs, 'kubectl'), args, { env: { ...env, ...variables }, extendEnv: false, reject: false });

  const listed = await runProgram(t, ['get', ...flags], { env });
  assert.equal(listed.stderr, '');
  assert.match(listed.stdout, /^default +one +test +- +token +token$/m);
  const selected = await runProgram(t, ['get', '-l', 'env=dev', '-o', 'name'], { env });
  assert.equal(selected.stdout, 'clusterprofile.multicluster.x-k8s.io/two');
  const checked = await runProgram(t, ['check', '-l', 'env=prod', '-o', 'json', ...flags], { env });
  const { items } = JSON.parse(checked.stdout);
  assert.deepEqual(
    items.map(({ profile, failed }: { profile: string; failed?: string }) => [profile, failed]),
    [
      ['default/one', undefined],
      ['default/refused', 'authentication'],
    ],
  );
  assert.equal(checked.exitCode, 15);
  const [first] = items;
  const found = Object.fromEntries(
    first.stages.map(({ stage, message }: { stage: string; message: string }) => [stage, message]),
  );
  assert.match(found.connection, /^127\.0\.0\.1, certificate by .+ left$/);
  assert.match(found.identity, /^system:serviceaccount:default:controller \(system:serviceaccounts, /);
  assert.match(found.version, /^v1\.\d+\./);
  assert.equal(found.ready, 'the API server says that it is ready');
  const rights = ['--can-i=list namespaces', '--can-i=update deployments.apps/web -n shop --subresource status'];
  const allowed = await runProgram(t, ['check', 'one', ...rights, ...flags], { env });
  const permissions = /ok {4}permissions .* it may list namespaces, update deployments.* status\n1 cluster: 1 ok/;
  assert.match(allowed.stdout, permissions);
  const mistaken = await runProgram(t, ['check', 'one', '--can-i', 'list podz', ...flags], { env });
  assert.match(mistaken.stdout, /FAIL {2}permissions .* no resource podz in the core group: did you mean pods\?/);

  // kubectl finds its plugin in PATH, and asks it for completions.
  const PATH = [await installedFolder(t), env.PATH].join(delimiter);
  const [asPlugin, completed, help] = await Promise.all([
    kubectlWith({ PATH }, ['clusterprofile', 'get', ...flags]),
    kubectlWith({ PATH }, ['__complete', 'clusterprofile', 'get', 'one']),
    kubectlWith({ PATH }, ['clusterprofile', 'get', '--help']),
  ]);
  assert.equal(asPlugin.stdout, listed.stdout);
  assert.match(completed.stdout, /^one\b.*\n:4/m);
  assert.match(help.stdout, /^Usage: kubectl clusterprofile get/);

  // A certificate lasts a minute.
  await two.issue();
  // kubectl has written the file before, and writes it afterwards.
  const config = join(home, 'config');
  const kubectl = (...args: string[]) => kubectlWith({ KUBECONFIG: config }, args);
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
  await buildAccess('./bench', join(folder, 'client-go'));
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
