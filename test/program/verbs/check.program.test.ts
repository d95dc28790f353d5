import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { clusterOf, profileOf, startOperatedFleet } from '../../fixtures/operated-fleet.ts';
import { runProgram, startProgram } from '../../fixtures/program.ts';
import { ended, shellPlugin } from '../../fixtures/script.ts';
import { until } from '../../fixtures/until.ts';

describe('clusterprofile check on ten clusters, of which four are broken in different ways', () => {
  test('prints what docs/command-line.md says, and ends with the code of the first stage that failed', async (t) => {
    const { env, flags, names, plugin } = await startOperatedFleet(t);
    const [all, some] = await Promise.all([
      runProgram(t, ['check', '-q', ...flags], { env }),
      runProgram(t, ['check', 'spoke-1', ...flags], { env }),
    ]);
    assert.deepEqual([all.stderr, all.exitCode, some.stderr, some.exitCode], ['', 11, '', 0]);
    const command = 'clusterprofile check --clusterprofile-provider-file providers.yaml';
    assertDocumented(`${command} spoke-1`, `${withoutRun(some.stdout, names)}\n`);
    assertDocumented(`${command} -q`, `${withoutRun(all.stdout, names)}\n`);
    // Clusters share a credential, as they do in a controller; the 401 of spoke-9 asks for another one.
    assert.equal(await plugin.runs(), 3);
  });

  test('with --failed-only -o name prints names that the verbs take, and with -o json all that it found, but no token', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const failed = await runProgram(t, ['check', '-A', '--failed-only', '-o', 'name', ...flags], { env });
    assert.deepEqual([failed.stderr, failed.exitCode], ['', 11]);
    const names = failed.stdout.split('\n');
    assert.deepEqual(names, ['fleet/spoke-3', 'fleet/spoke-5', 'fleet/spoke-7', 'fleet/spoke-9']);
    const [json, all, full, listed] = await Promise.all([
      runProgram(t, ['check', ...names, 'fleet/spoke-1', '-q', '-o', 'json', ...flags], { env }),
      runProgram(t, ['check', '-o', 'name', ...flags], { env }),
      runProgram(t, ['check', '-o', 'json', ...flags], { env }),
      runProgram(t, ['get', ...names, '-o', 'name', ...flags], { env }),
    ]);
    assert.deepEqual(
      JSON.parse(json.stdout).items.map(({ profile }: { profile: string }) => profile),
      names,
    );
    assert.equal(all.stdout.split('\n').length, 10);
    assert.equal(listed.stdout.split('\n').length, 4);
    const { items } = JSON.parse(full.stdout);
    assert.equal(items.length, 10);
    const [, , , third] = items;
    assert.deepEqual(
      [third.profile, third.ok, third.failed, third.stages[1].code],
      ['fleet/spoke-3', false, 'provider', 'NO_MATCHING_PROVIDER'],
    );
    assert.doesNotMatch(full.stdout, /token-1/);
  });
});

describe('clusterprofile check --watch', () => {
  const blocks = (shown: string) => shown.match(/^fleet\/spoke-\d$/gm) ?? [];

  test('prints what changes, goes on while the hub refuses, and ends with the exit code of the last complete round, also while the hub does not answer', async (t) => {
    const { env, flags, hub, spoke, plugin } = await startOperatedFleet(t);
    for (let index = 2; index < 10; index++) hub.delete(profileOf(`spoke-${index}`, 'google', {}));
    const program = await startProgram(t, ['check', '-w', '--interval', '20ms', ...flags], { env });
    await program.shows(/^\d{4}-\S+Z 2 clusters: 2 ok\n/m);
    const before = await plugin.runs();
    await until(t, async () => (await plugin.runs()) > before + 2);
    assert.deepEqual(blocks(program.shown()), ['fleet/spoke-0', 'fleet/spoke-1']);

    hub.set(profileOf('spoke-1', 'azure', clusterOf(spoke)));
    await program.shows(
      /^fleet\/spoke-1\n.*\n {2}FAIL {2}provider .*\n\S+Z 2 clusters: 1 ok, 1 failed \(provider 1\)\n/m,
    );
    hub.setTokens({});
    await program.shows(/^warning: the hub .* refuses the credential/m);
    hub.setTokens({ hub: 'operator' });
    hub.delete(profileOf('spoke-0', 'google', {}));
    await program.shows(/^fleet\/spoke-0 has gone\n\S+Z 1 cluster: 0 ok, 1 failed \(provider 1\)\n/m);
    assert.deepEqual(blocks(program.shown()), ['fleet/spoke-0', 'fleet/spoke-1', 'fleet/spoke-1']);
    const asked = new Promise<void>((resolve) => {
      hub.onRequest = () => resolve();
    });
    hub.failNext('hang');
    await asked;
    program.kill('SIGTERM');
    assert.equal(await program.ended, 11);
  });

  test('shows what fails first with -q, and every change then', async (t) => {
    const { env, flags, hub, spoke } = await startOperatedFleet(t);
    const program = await startProgram(t, ['check', '-wq', '--interval', '20ms', ...flags], { env });
    await program.shows(/^\S+Z 10 clusters: 6 ok, 4 failed/m);
    assert.deepEqual(blocks(program.shown()), ['fleet/spoke-3', 'fleet/spoke-5', 'fleet/spoke-7', 'fleet/spoke-9']);
    hub.set(profileOf('spoke-3', 'google', clusterOf(spoke)));
    await program.shows(/^fleet\/spoke-3\n {2}ok {4}profile[\s\S]*Z 10 clusters: 7 ok, 3 failed/m);
    program.kill('SIGINT');
    assert.equal(await program.ended, 12);
  });
});

describe('clusterprofile check', () => {
  test('needs providers, a time and a number that are such', async (t) => {
    const cases = [
      [[], /^error: check needs to know the controller's access providers/],
      [['--timeout', '5'], /^error: --timeout 5: must be a duration/],
      [['--watch', '-o', 'json'], /^error: --watch and -o json contradict each other/],
      [['--watch', '--interval', '5'], /^error: --interval 5: must be a duration/],
      [['--can-i', 'namespaces'], /^error: --can-i 'namespaces': must be VERB RESOURCE\[\.GROUP\]/],
      [['--can-i', 'get pods --as me'], /^error: --can-i 'get pods --as me': must be/],
      [['--parallel', '0'], /^error: --parallel 0: must be a whole number of 1 or more$/],
    ] as const;
    const input = '{"kind":"ClusterProfile"}';
    await Promise.all(
      cases.map(async ([args, expected]) => {
        const { stderr } = await runProgram(t, ['check', '-f', '-', ...args], { input });
        assert.match(stderr, expected);
      }),
    );
  });
});

describe('clusterprofile check beside plugins that hang', () => {
  // The plugin's own limit is the shorter one, and the longer one.
  for (const [timeout, pluginTimeout] of [
    ['20s', '2s'],
    ['2s', '20s'],
  ] as const) {
    const title = `with --timeout ${timeout} and --clusterprofile-plugin-timeout ${pluginTimeout}`;
    test(`names a plugin that hangs, shows what it wrote, and leaves no process, ${title}`, async (t) => {
      const code = `echo $$ > "$DIR/pid"; echo "asks sts with token=${'s3cr3t'.repeat(4)}" >&2; exec sleep 100`;
      const plugin = await shellPlugin(t, code);
      const input = JSON.stringify(profileOf('hangs', 'google', { server: 'https://127.0.0.1:1' }));
      const provider = ['--clusterprofile-access-provider', `google=${plugin.command}`];
      const args = ['--timeout', timeout, '--clusterprofile-plugin-timeout', pluginTimeout, ...provider];
      const { stdout, exitCode } = await runProgram(t, ['check', '-f', '-', ...args], { input });
      const killed =
        /FAIL {2}plugin .* PLUGIN_TIMEOUT: \/.*: did not end within 2000 ms and was killed: .*\n +stderr: asks sts with token=/;
      assert.match(stdout, killed);
      assert.match(stdout, /\n +a plugin may take the lesser of --timeout and --clusterprofile-plugin-timeout\n/);
      assert.doesNotMatch(stdout, /s3cr3t/);
      assert.equal(exitCode, 12);
      await ended(t, Number(await readFile(join(plugin.folder, 'pid'), 'utf8')));
    });
  }

  test('names a plugin that waited for its turn behind others that hang', async (t) => {
    const plugin = await shellPlugin(t, 'exec sleep 100');
    const types = ['a', 'b', 'c', 'd', 'e'];
    const input = JSON.stringify({
      kind: 'List',
      items: types.map((type) => profileOf(type, type, { server: 'https://127.0.0.1:1' })),
    });
    const providers = types.flatMap((type) => ['--clusterprofile-access-provider', `${type}=${plugin.command}`]);
    const args = ['--timeout', '1s', '--clusterprofile-max-concurrent-runs', '1', ...providers];
    const { stdout, exitCode } = await runProgram(t, ['check', '-f', '-', ...args], { input });
    // One was run, and the others waited.
    const timeouts = stdout.match(/PLUGIN_TIMEOUT: \S+: (?:did not end|gave no answer) /g);
    assert.equal(timeouts?.length, types.length + 1);
    assert.match(stdout, /\n {3}5 x PLUGIN_TIMEOUT: .* \(fleet\/a, fleet\/b, fleet\/c and 2 more\)$/);
    assert.match(stdout, /gave no answer in time: it waits for this terminal, or behind other plugins that hang\n/);
    assert.equal(exitCode, 12);
  });
});
