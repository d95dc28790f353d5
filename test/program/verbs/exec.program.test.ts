// The verb exec as a process; with kubectl and three real clusters it is in test/e2e.
import assert from 'node:assert/strict';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { assertDocumented } from '../../fixtures/golden.ts';
import { profileOf } from '../../fixtures/operated-fleet.ts';
import { runProgram, startProgram, writeInput } from '../../fixtures/program.ts';
import { ended, temporaryFolder } from '../../fixtures/script.ts';
import { until } from '../../fixtures/until.ts';

/** Three profiles in a file, of which the last is served by nobody, and a folder for temporary files. */
async function threeClusters(t: TestContext, [one, two, three]: readonly [string, string, string] = ['a', 'bb', 'c']) {
  const server = { server: 'https://127.0.0.1:65533' };
  const file = await writeInput(t, 'profiles.json', {
    items: [profileOf(one, 'google', server), profileOf(two, 'google', server), profileOf(three, 'azure', server)],
  });
  const folder = await temporaryFolder(t);
  const flags = ['-f', file, '--clusterprofile-access-provider=google=/plugin'];
  const args = (...more: readonly string[]) => ['exec', ...flags, ...more];
  return { args, folder, env: { TMPDIR: folder } };
}

test('exec runs a command for each cluster with its own kubeconfig, tells the lines apart, and ends with the code of the earliest stage', async (t) => {
  const { args, env, folder } = await threeClusters(t);
  const script = `echo "$CLUSTERPROFILE_NAMESPACE/$CLUSTERPROFILE_NAME"; stat -c %a "$KUBECONFIG" "$(dirname "$KUBECONFIG")"
cat > /dev/null; printf 'no end' >&2; grep -c -- "- credential$" "$KUBECONFIG"; [ "$CLUSTERPROFILE_NAME" = a ]`;
  const { stdout, stderr, exitCode } = await runProgram(t, args('--', 'sh', '-c', script), { env });
  assert.deepEqual(stdout.split('\n').sort(), [
    'fleet/a  | 1',
    'fleet/a  | 600',
    'fleet/a  | 700',
    'fleet/a  | fleet/a',
    'fleet/bb | 1',
    'fleet/bb | 600',
    'fleet/bb | 700',
    'fleet/bb | fleet/bb',
  ]);
  for (const name of ['fleet/a ', 'fleet/bb']) assert.ok(stderr.includes(`${name} | no end\n`), stderr);
  // Of the two kinds of failure the earlier stage: no provider.
  assert.equal(exitCode, 11);
  assert.deepEqual(await readdir(folder), []);
});

test('exec runs no more at once than --parallel says, ends what takes too long, and can leave the names out', async (t) => {
  const { args, env, folder } = await threeClusters(t);
  const busy = join(folder, 'busy');
  const script = `mkdir ${busy} && sleep 0.1; rmdir ${busy} && echo done`;
  const [one, late] = await Promise.all([
    runProgram(t, args('--parallel=1', '--no-prefix', 'a', 'bb', '--', 'sh', '-c', script), { env }),
    runProgram(t, args('--timeout=300ms', 'fleet/a', '--', 'sh', '-c', 'sleep 60 & wait'), { env }),
  ]);
  assert.deepEqual(one, { stdout: 'done\ndone', stderr: '2 clusters: 2 ok', exitCode: 0 });
  assert.deepEqual(late, {
    stdout: '',
    stderr: '1 cluster: 0 ok, 1 failed\n  fleet/a: was ended after 300 ms',
    exitCode: 20,
  });
  assert.deepEqual(await readdir(folder), []);
});

test('exec does not wait for what a command left behind in a session of its own, and leaves out no line', async (t) => {
  const { args, env, folder } = await threeClusters(t);
  const pid = join(folder, 'pid');
  const daemon = `const { spawn } = require('node:child_process');
    const child = spawn('sleep', ['300'], { detached: true, stdio: 'inherit' });
    require('node:fs').writeFileSync(process.env.PID_FILE, String(child.pid));
    child.unref();`;
  /** Undefined when the command was ended before it left anything behind. */
  const leaveBehind = async (end: string, ...flags: readonly string[]) => {
    const run = args('--no-prefix', ...flags, 'fleet/a', '--', process.execPath, '-e', `${daemon} ${end}`);
    const { stdout, stderr, exitCode } = await runProgram(t, run, { env: { ...env, PID_FILE: pid } });
    const left = Number(await readFile(pid, 'utf8').catch(() => undefined));
    if (!(left > 0)) return undefined;
    process.kill(left, 'SIGKILL');
    return { summary: stderr, exitCode, length: stdout.length };
  };
  assert.deepEqual(await leaveBehind('console.log("x".repeat(150_000))'), {
    summary: '1 cluster: 1 ok',
    exitCode: 0,
    length: 150_000,
  });
  await rm(pid);
  // A busy machine takes longer than a second to start the command.
  let seconds = 1;
  let ended = await leaveBehind('setInterval(() => {}, 1_000)', '--timeout=1s');
  while (ended === undefined) {
    seconds *= 2;
    ended = await leaveBehind('setInterval(() => {}, 1_000)', `--timeout=${seconds}s`);
  }
  const summary = `1 cluster: 0 ok, 1 failed\n  fleet/a: was ended after ${seconds}000 ms`;
  assert.deepEqual(ended, { summary, exitCode: 20, length: 0 });
});

test('exec warns of nothing with many commands at once', async (t) => {
  const items = Array.from({ length: 14 }, (_, index) =>
    profileOf(`p${index}`, 'google', { server: 'https://127.0.0.1:65533' }),
  );
  const file = await writeInput(t, 'many.json', { items });
  const flags = ['--clusterprofile-access-provider=google=/plugin', '--parallel=14'];
  const { stderr } = await runProgram(t, ['exec', '-f', file, ...flags, '--', 'sleep', '0.2']);
  assert.equal(stderr, '14 clusters: 14 ok');
});

test('exec prints what docs/command-line.md says', async (t) => {
  const { args, env } = await threeClusters(t, ['berlin', 'frankfurt', 'lab']);
  const script = '[ "$CLUSTERPROFILE_NAME" = berlin ] && echo ok || { echo "not ready: etcd"; exit 1; }';
  const { stdout, stderr } = await runProgram(t, args('--parallel=1', '--', 'sh', '-c', script), { env });
  const flags = '-f profiles.yaml --clusterprofile-provider-file providers.yaml';
  assertDocumented(`clusterprofile exec ${flags} -- ./readyz`, `${stdout}\n${stderr}\n`);
});

test('exec says what it was not given: a command, one that is there, ClusterProfiles, a folder for temporary files', async (t) => {
  const { args, env, folder } = await threeClusters(t);
  const all = await Promise.all([
    runProgram(t, args(), { env }),
    runProgram(t, args('--', 'no-such-command'), { env }),
    runProgram(t, args('nobody', '--', 'true'), { env }),
    runProgram(t, args('-n', 'empty', '--', 'true'), { env }),
    runProgram(t, args('--parallel', 'many', '--', 'true'), { env }),
    runProgram(t, args('--', 'true'), { env: { TMPDIR: join(folder, 'none') } }),
  ]);
  assert.deepEqual(
    all.map(({ stderr, exitCode }) => [stderr.split('\n')[0], exitCode]),
    [
      ['error: exec needs a command after --', 2],
      ['error: the command no-such-command was not found', 2],
      ['error: there is no ClusterProfile nobody', 5],
      ['No resources found in empty namespace. -A looks in all namespaces.', 0],
      ['error: --parallel many: must be a whole number of 1 or more', 2],
      [`error: a temporary folder cannot be made in ${join(folder, 'none')} (ENOENT)`, 3],
    ],
  );
});

describe('Ctrl-C at exec', () => {
  /** Commands that leave their ids in files, and do as they like with SIGINT. */
  async function started(t: TestContext, onInterrupt: string) {
    const { args, env, folder } = await threeClusters(t);
    const script = `trap "${onInterrupt}" INT; echo $$ > ${folder}/$CLUSTERPROFILE_NAME.pid; echo ready; while :; do sleep 0.05; done`;
    const program = await startProgram(t, args('a', 'bb', '--', 'sh', '-c', script), { env, terminal: true });
    const pids = async () =>
      (await Promise.all(['a', 'bb'].map((name) => readFile(join(folder, `${name}.pid`), 'utf8').catch(() => '')))).map(
        Number,
      );
    await until(t, async () => (await pids()).every((pid) => pid > 0) && program.shown().split('ready').length === 3);
    const left = async () => (await readdir(folder)).filter((name) => !name.endsWith('.pid'));
    return { program, pids: await pids(), left };
  }

  test('ends the commands as it would at a terminal, waits for them, and leaves no file', async (t) => {
    const { program, pids, left } = await started(t, 'echo cleaned up; exit 3');
    assert.equal((await left()).length, 1);
    program.type('\u0003');
    assert.equal(await program.ended, 130);
    const shown = stripVTControlCharacters(program.shown());
    assert.equal(shown.split('| cleaned up').length, 3);
    assert.match(shown, /2 clusters: 0 ok, 2 failed/);
    for (const pid of pids) await ended(t, pid);
    assert.deepEqual(await left(), []);
    // In colours, on a terminal.
    assert.ok(program.shown().includes('\u001b[36mfleet/a '));
  });

  test('as SIGQUIT (Ctrl-\\) ends the commands, with the exit code of the signal, and leave no file', async (t) => {
    const { program, pids, left } = await started(t, 'echo not yet');
    program.type('\u001c');
    assert.equal(await program.ended, 143);
    for (const pid of pids) await ended(t, pid);
    assert.deepEqual(await left(), []);
  });

  test('kills them when it comes twice', async (t) => {
    const { program, pids, left } = await started(t, 'echo not yet');
    program.type('\u0003');
    await program.shows(/not yet[\s\S]*not yet/);
    program.type('\u0003');
    assert.equal(await program.ended, 130);
    for (const pid of pids) await ended(t, pid);
    assert.deepEqual(await left(), []);
  });
});
