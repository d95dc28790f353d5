// The verbs kubeconfig and credential as processes, used by a client; with kubectl and client-go they are in test/e2e.
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { RestConfig } from '../../../src/index.ts';
import { createCertificateAuthority } from '../../../src/testing/index.ts';
import { execCredential } from '../../fixtures/clouds.ts';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { kubeconfig } from '../../fixtures/kubeconfigs.ts';
import { clusterOf, profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { programFile, runProgram, startProgram, writeInput } from '../../fixtures/program.ts';
import { print, setEnvironment, shellPlugin, temporaryFolder } from '../../fixtures/script.ts';

const v1 = 'client.authentication.k8s.io/v1';
const execInfo = (server: string, apiVersion = v1) => JSON.stringify({ ...execCredential(null, server), apiVersion });

/** The name of the first namespace, through a kubeconfig. */
async function firstNamespace(t: TestContext, path: string, context?: string): Promise<string | undefined> {
  const config = RestConfig.fromKubeConfig({ path }, { context });
  t.after(() => config.close());
  const { items } = await config.makeApiClient(CoreV1Api).listNamespace();
  return items[0]?.metadata?.name;
}

describe('kubeconfig', () => {
  test('writes contexts that a client reaches the clusters with, pinned to the hub of now, without a credential', async (t) => {
    const fleet = await startOperatedFleet(t);
    const { stdout, stderr, exitCode } = await runProgram(t, ['kubeconfig', 'spoke-0', 'spoke-1', ...fleet.flags], {
      env: fleet.env,
    });
    assert.deepEqual([stderr, exitCode], ['', 0]);
    const { contexts, users, 'current-context': current } = parse(stdout);
    assert.deepEqual(
      contexts.map(({ name }: { name: string }) => name),
      ['fleet/spoke-0@hub', 'fleet/spoke-1@hub'],
    );
    assert.equal(current, undefined);
    assert.deepEqual(
      users[0].user.exec.args.slice(-7),
      ['credential', 'fleet/spoke-0', '--kubeconfig', fleet.kubeconfig, '--context', 'hub', ...fleet.flags].slice(-7),
    );
    assert.ok(!stdout.includes('token-1'));
    const path = await writeInput(t, 'config', stdout);
    // Who uses it has this file in KUBECONFIG, and must not be led to the hub by it.
    setEnvironment(t, { KUBECONFIG: path });
    assert.equal(await firstNamespace(t, path, 'fleet/spoke-1@hub'), 'default');
  });

  test('merges into a file that others have written', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const folder = await temporaryFolder(t);
    const file = join(folder, 'config');
    const before =
      '# mine\napiVersion: v1\nkind: Config\nclusters:\n- name: lab\n  cluster: { server: https://lab } # odd\n';
    await writeFile(file, before, { mode: 0o640 });
    const merge = ['kubeconfig', 'spoke-0', '--merge', file, ...flags];
    const first = await runProgram(t, merge, { env });
    const text = await readFile(file, 'utf8');
    const again = await runProgram(t, merge, { env });
    assert.deepEqual([first.stdout, first.stderr], ['', `${file}: 1 context added, 0 updated`]);
    assert.equal(again.stderr, `${file}: 0 contexts added, 0 updated`);
    assert.ok(text.startsWith(before));
    assert.equal(await readFile(file, 'utf8'), text);
    assert.equal(((await stat(file)).mode & 0o777).toString(8), '640');
    assert.equal(await firstNamespace(t, file, 'fleet/spoke-0@hub'), 'default');
  });

  test('calls this very program by its path, pins several files of KUBECONFIG, and leaves out, with the reason and 11, the clusters that no provider serves', async (t) => {
    const { env, flags, kubeconfig } = await startOperatedFleet(t);
    const other = await writeInput(t, 'other', 'apiVersion: v1\nkind: Config\n');
    const files = [env.KUBECONFIG, other, '/nowhere'].join(delimiter);
    const written = await runProgram(t, ['kubeconfig', ...flags], { env: { KUBECONFIG: files } });
    const { contexts, users } = parse(written.stdout);
    assert.equal(contexts.length, 9);
    assert.match(written.stderr, /^left out: ClusterProfile fleet\/spoke-3: status\.accessProviders: offers azure/);
    assert.equal(written.exitCode, 11);
    const { exec } = users[0].user;
    assert.deepEqual(
      [exec.command, ...exec.args.slice(0, 5)],
      [process.execPath, programFile, 'credential', 'fleet/spoke-0', '--context', 'hub'],
    );
    assert.deepEqual(exec.env, [{ name: 'KUBECONFIG', value: `${kubeconfig}${delimiter}${other}` }]);
  });

  test('names the namespace of a workload, and the profile keeps its own with -n', async (t) => {
    const { env, flags, spoke } = await startOperatedFleet(t);
    const file = await writeInput(t, 'p.json', profileOf('a', 'google', clusterOf(spoke)));
    const manifest = await writeInput(t, 'controller.json', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: 'other', name: 'controller' },
      spec: { template: { spec: { containers: [{ name: 'controller', args: flags }] } } },
    });
    const pod = ['--from-pod-args', manifest, '-n', 'other'];
    const written = await runProgram(t, ['kubeconfig', 'fleet/a', '-f', file, ...pod], { env });
    assert.deepEqual([written.stderr, written.exitCode], ['', 0]);
    const [, ...args] = parse(written.stdout).users[0].user.exec.args;
    assert.deepEqual(args, ['credential', 'fleet/a', '--filename', file, '--from-pod-args', manifest]);
    const [credential, missing] = await Promise.all([
      runProgram(t, args, { env }),
      runProgram(t, ['get', 'a', '-f', file, '-n', 'other'], { env }),
    ]);
    assert.deepEqual([credential.stderr, credential.exitCode], ['', 0]);
    assert.match(missing.stderr, /there is no ClusterProfile a in namespace other\n.*lists those that are there/);
  });

  test('writes what docs/command-line.md says', async (t) => {
    const { flags, providerFile } = await startOperatedFleet(t);
    const file = await writeInput(t, 'p.json', profileOf('spoke-1', 'google', { server: 'https://spoke-1:6443' }));
    const { stdout } = await runProgram(t, ['kubeconfig', '-f', file, ...flags]);
    const printed = withoutRun(`${stdout}\n`, {
      [process.execPath]: '/usr/bin/node',
      [programFile]: '/usr/local/bin/clusterprofile',
      [file]: '/home/me/profiles.yaml',
      [providerFile]: '/home/me/providers.yaml',
    });
    assertDocumented(
      `clusterprofile kubeconfig -f profiles.yaml --clusterprofile-provider-file providers.yaml`,
      printed,
    );
  });

  test('refuses what would mean something else elsewhere, and secrets', async (t) => {
    const file = await writeInput(t, 'p.json', profileOf('a', 'google', { server: 'https://h' }));
    const served = (by: string) => ['--clusterprofile-access-provider', `google=${by}`];
    const secret = /the flags of provider google have what looks like a secret/;
    for (const [given, said, code] of [
      [served('./plugin'), /the command of provider google, \.\/plugin, is relative to the working directory/, 3],
      [served('/plugin --client-secret hunter2-hunter2'), secret, 3],
      [served('/plugin https://me:hunter2@example.com/'), secret, 3],
      [served('/plugin AWS_SECRET_ACCESS_KEY=hunter2-aws'), secret, 3],
      [[], /kubeconfig needs to know the controller's access providers/, 3],
      [
        ['--merge', '-', ...served('/plugin')],
        /--merge cannot merge into stdout\nhint: {2}leave --merge out to print the kubeconfig/,
        2,
      ],
    ] as const) {
      const { stdout, stderr, exitCode } = await runProgram(t, ['kubeconfig', '-f', file, ...given]);
      assert.match(stderr, said);
      assert.doesNotMatch(stderr, /hunter2/);
      assert.deepEqual([stdout, exitCode], ['', code]);
    }
  });
});

describe('credential', () => {
  test('answers in the version that it is asked in: tokens, certificates and expiry', async (t) => {
    const { certificate, key } = createCertificateAuthority().issue({ commonName: 'me', client: true });
    const expirationTimestamp = '2999-01-01T00:00:00Z';
    const status = { token: 't-1', clientCertificateData: certificate, clientKeyData: key, expirationTimestamp };
    const plugin = await shellPlugin(t, `printf '%s' "$KUBERNETES_EXEC_INFO" > "$DIR/info"\n${print(status)}`);
    const file = await writeInput(t, 'p.json', profileOf('a', 'google', { server: 'https://h:6443/' }));
    const args = ['credential', 'fleet/a', '-f', file, `--clusterprofile-access-provider=google=${plugin.command}`];
    const v1beta1 = 'client.authentication.k8s.io/v1beta1';
    const [byHand, beta, alpha] = await Promise.all([
      runProgram(t, args),
      runProgram(t, args, { env: { KUBERNETES_EXEC_INFO: execInfo('https://h:6443', v1beta1) } }),
      runProgram(t, args, { env: { KUBERNETES_EXEC_INFO: '{"kind":"x"}' } }),
    ]);
    assert.deepEqual(JSON.parse(byHand.stdout), { kind: 'ExecCredential', apiVersion: v1, status });
    assert.deepEqual(JSON.parse(beta.stdout), { kind: 'ExecCredential', apiVersion: v1beta1, status });
    assert.match(
      alpha.stderr,
      /^error \[EXEC_INFO_INVALID\]: KUBERNETES_EXEC_INFO: kind: must be ExecCredential\nhint: /,
    );
    // The cluster's plugin is told what its provider says, not what this program was told.
    assert.equal(JSON.parse(await readFile(join(plugin.folder, 'info'), 'utf8')).spec.cluster.server, 'https://h:6443');
  });

  test('is not given for another server than the one that the profile names', async (t) => {
    const plugin = await shellPlugin(t, print({ token: 't-1' }));
    const file = await writeInput(t, 'p.json', profileOf('a', 'google', { server: 'https://new' }));
    const flag = `--clusterprofile-access-provider=google=${plugin.command}`;
    const { stdout, stderr, exitCode } = await runProgram(t, ['credential', 'fleet/a', '-f', file, flag], {
      env: { KUBERNETES_EXEC_INFO: execInfo('https://old') },
    });
    assert.deepEqual([stdout, exitCode, await plugin.runs()], ['', 10, 0]);
    assert.equal(
      stderr,
      'error: the kubeconfig says that fleet/a is https://old, and its ClusterProfile says https://new: no credential is given; ' +
        'write the kubeconfig again: clusterprofile kubeconfig fleet/a',
    );
  });

  test('fails in one line and a hint, with the exit code of what failed, and the rules of the providers hold', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const policy = '--clusterprofile-plugin-policy=DenyAll';
    const [plugin, denied, unknown] = await Promise.all([
      runProgram(t, ['credential', 'fleet/spoke-5', ...flags], { env }),
      runProgram(t, ['credential', 'fleet/spoke-0', policy, ...flags], { env }),
      runProgram(t, ['credential', 'fleet/spoke-x', ...flags], { env }),
    ]);
    assert.match(
      plugin.stderr,
      /^error \[PLUGIN_FAILED\]: access provider broken: plugin \S+: failed with exit code 3; stderr: no such project\nhint: {2}clusterprofile explain PLUGIN_FAILED$/,
    );
    assert.match(
      denied.stderr,
      /^error \[PLUGIN_NOT_ALLOWED\]: .*may not be run: the plugin policy is DenyAll.*\nhint: .*$/,
    );
    assert.match(
      unknown.stderr,
      /^error: there is no ClusterProfile spoke-x in namespace fleet; did you mean spoke-\d\?$/,
    );
    assert.deepEqual([plugin.exitCode, denied.exitCode, unknown.exitCode], [12, 12, 5]);
    assert.equal(plugin.stdout + denied.stdout + unknown.stdout, '');
  });

  test('stays off a terminal, unless it is asked to show itself', async (t) => {
    const plugin = await shellPlugin(t, print({ token: 'token-of-nobody' }));
    const file = await writeInput(t, 'p.json', profileOf('a', 'google', { server: 'https://h' }));
    const args = ['credential', 'fleet/a', '-f', file, `--clusterprofile-access-provider=google=${plugin.command}`];
    const hidden = await startProgram(t, args, { terminal: true });
    const shown = await startProgram(t, [...args, '--show'], { terminal: true });
    assert.deepEqual([await hidden.ended, await shown.ended], [2, 0]);
    assert.match(
      hidden.shown(),
      /stdout is a terminal, and a credential would be shown on it; clusterprofile credential --show/,
    );
    assert.doesNotMatch(hidden.shown(), /token-of-nobody/);
    assert.match(shown.shown(), /"token":"token-of-nobody"/);
    assert.equal(await plugin.runs(), 1);
  });

  test('that is needed to reach its own hub is refused, and starts nothing without end', async (t) => {
    const args = ['credential', 'fleet/a', '--clusterprofile-access-provider=google=/plugin'];
    const text = kubeconfig({ exec: { command: process.execPath, args: [programFile, ...args] } });
    const KUBECONFIG = await writeInput(t, 'config', text);
    const { stderr, exitCode } = await runProgram(t, args, { env: { KUBECONFIG } });
    assert.match(stderr, /the credential of fleet\/a is needed to reach the hub that has fleet\/a/);
    assert.equal(stderr.split('\n').length, 2);
    assert.equal(exitCode, 4);
  });
});
