// The program `clusterprofile`, as an operator calls it, on real API servers and under a real kubectl.
import assert from 'node:assert/strict';
import { chmod, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { execa } from 'execa';
import { programEnvironment, programFile, runProgram, writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { publish, registerCrd } from './crd.ts';
import {
  accessBy,
  clusterOf,
  kubeconfigText,
  lifetimeOf,
  operatorFile,
  programs,
  providerFile,
  startPlane,
} from './fixture.ts';
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

describe('an operator with a hub of two clusters, of which no provider serves one', () => {
  test('sees them with get and check, under kubectl too, and what the hub refuses', async (t) => {
    const life = lifetimeOf(t);
    const [hub, spoke] = await Promise.all([startPlane(life, 'hub'), startSpoke(life, 'spoke', kinds.token)]);
    await registerCrd(hub);
    await publish(hub, 'spoke-0', accessBy('google', clusterOf(spoke.plane)), { env: 'prod' });
    await publish(hub, 'spoke-1', accessBy('azure', clusterOf(spoke.plane)), { env: 'dev' });
    const env = { KUBECONFIG: await operatorFile(t, hub) };
    const flags = ['--clusterprofile-provider-file', await providerFile(t, { google: spoke.plugin.command })];

    const listed = await runProgram(t, ['get', ...flags], { env });
    assert.equal(listed.stderr, '');
    assert.match(listed.stdout, /^default +spoke-0 +test +- +google +google$/m);
    assert.match(listed.stdout, /^default +spoke-1 +test +- +azure +none \(NO_MATCHING_PROVIDER\)$/m);
    const selected = await runProgram(t, ['get', '-l', 'env=dev', '-o', 'name'], { env });
    assert.equal(selected.stdout, 'clusterprofile.multicluster.x-k8s.io/spoke-1');

    const checked = await runProgram(t, ['check', '-o', 'json', ...flags], { env });
    const { items } = JSON.parse(checked.stdout);
    assert.deepEqual(
      items.map(({ profile, failed }: { profile: string; failed?: string }) => [profile, failed]),
      [
        ['default/spoke-0', undefined],
        ['default/spoke-1', 'provider'],
      ],
    );
    assert.equal(checked.exitCode, 11);
    const [first] = items;
    const found = Object.fromEntries(
      first.stages.map(({ stage, message }: { stage: string; message: string }) => [stage, message]),
    );
    assert.match(found.connection, /^127\.0\.0\.1, certificate by .+ left$/);
    assert.match(found.identity, /^system:serviceaccount:default:controller \(system:serviceaccounts, /);
    assert.match(found.version, /^v1\.\d+\./);
    assert.equal(found.ready, 'the API server says that it is ready');
    const rights = ['--can-i=list namespaces', '--can-i=update deployments.apps/web -n shop --subresource status'];
    const { stdout } = await runProgram(t, ['check', 'spoke-0', ...rights, ...flags], { env });
    assert.match(stdout, /ok {4}permissions .* it may list namespaces, update deployments.* status\n1 cluster: 1 ok/);
    const mistaken = await runProgram(t, ['check', 'spoke-0', '--can-i', 'list podz', ...flags], { env });
    assert.match(mistaken.stdout, /FAIL {2}permissions .* no resource podz in the core group: did you mean pods\?/);

    // kubectl finds its plugin in PATH, and asks it for completions.
    const home = await temporaryFolder(t);
    const bare = programEnvironment(home);
    const PATH = [await installedFolder(t), bare.PATH].join(delimiter);
    const kubectl = (...args: string[]) =>
      execa(join(programs, 'kubectl'), args, { env: { ...bare, ...env, PATH }, extendEnv: false, reject: false });
    const [asPlugin, completed, help] = await Promise.all([
      kubectl('clusterprofile', 'get', ...flags),
      kubectl('__complete', 'clusterprofile', 'get', 'spoke-0'),
      kubectl('clusterprofile', 'get', '--help'),
    ]);
    assert.equal(asPlugin.stdout, listed.stdout);
    assert.match(completed.stdout, /^spoke-0\b.*\n:4/m);
    assert.match(help.stdout, /^Usage: kubectl clusterprofile get/);

    const core = hub.admin.makeApiClient(CoreV1Api);
    const nobody = { name: 'nobody', namespace: 'default' };
    await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name: 'nobody' } } });
    const { status } = await core.createNamespacedServiceAccountToken({ ...nobody, body: { spec: { audiences: [] } } });
    const unprivileged = await runProgram(t, ['get'], {
      env: { KUBECONFIG: await writeInput(t, 'nobody', kubeconfigText(hub, { token: status?.token })) },
    });
    assert.match(
      unprivileged.stderr,
      /^error: the hub https:\S+ does not let you list clusterprofiles\.multicluster\.x-k8s\.io in namespace default: .*"system:serviceaccount:default:nobody" cannot list.*\nhint: {2}ask for the verb list on clusterprofiles/,
    );
    const notHub = await runProgram(t, ['get'], { env: { KUBECONFIG: await operatorFile(t, spoke.plane) } });
    assert.match(notHub.stderr, /^error: the hub https:\S+ does not know clusterprofiles.*\nhint: .*kubectl apply -f /);
    assert.deepEqual([unprivileged.exitCode, notHub.exitCode], [4, 4]);
  });
});
