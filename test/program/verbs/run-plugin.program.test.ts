// The verb as a process; what it says of an answer is in ../run-plugin.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCertificateAuthority } from '../../../src/testing/index.ts';
import { assertDocumented, withoutRun } from '../../fixtures/golden.ts';
import { runProgram, writeInput } from '../../fixtures/program.ts';
import { print, shellPlugin } from '../../fixtures/script.ts';

const secret = 'SECRET-3f9a-c81d-77aa';

test('run-plugin says what a plugin answers, and never the credential', async (t) => {
  const expirationTimestamp = '2999-01-01T00:00:00Z';
  const good = await shellPlugin(t, `echo "got ${secret}" >&2\n${print({ token: secret, expirationTimestamp })}`);
  const [text, json] = await Promise.all([
    runProgram(t, ['run-plugin', '--', good.command]),
    runProgram(t, ['run-plugin', '-o', 'json', '--', good.command]),
  ]);
  assert.equal(text.exitCode, 0);
  const lines = text.stdout
    .replace(/after \d+ ms/, 'after N ms')
    .replace(/in \d+ d$/m, 'in N d')
    .split('\n');
  assert.deepEqual(lines, [
    `plugin      ${good.command}`,
    'input       client.authentication.k8s.io/v1, no cluster',
    'run         exit code 0 after N ms, 160 bytes on stdout, 26 bytes on stderr',
    'credential  a token',
    'expires     2999-01-01T00:00:00Z, in N d',
    'stderr      got [redacted]',
    'warning: it writes its credential on stderr too, which clients log: write nothing secret there',
    'ok: a client takes the answer',
  ]);
  const report = JSON.parse(json.stdout);
  assert.deepEqual(
    [report.errors, report.credential.kinds, report.exitCode, report.stderrBytes],
    [[], ['token'], 0, 26],
  );
  for (const { stdout, stderr } of [text, json]) assert.ok(!`${stdout}${stderr}`.includes(secret));
});

test('run-plugin tells a plugin what the options say, refuses what no client would tell it, and shows no secret of what it refuses', async (t) => {
  const plugin = await shellPlugin(t, `printf %s "$KUBERNETES_EXEC_INFO" > "$DIR/info"; ${print({})}`);
  const authority = await writeInput(t, 'ca.pem', createCertificateAuthority().certificate);
  const server = ['--server=https://h:6443/', `--certificate-authority=${authority}`];
  const more = ['--config={"a":[1]}', '--api-version=v1beta1'];
  const run = await runProgram(t, ['run-plugin', ...server, ...more, '--', plugin.command]);
  const info = JSON.parse(await readFile(join(plugin.folder, 'info'), 'utf8'));
  assert.equal(info.apiVersion, 'client.authentication.k8s.io/v1beta1');
  assert.equal(info.spec.interactive, false);
  const { 'certificate-authority-data': data, ...rest } = info.spec.cluster;
  assert.deepEqual(rest, { server: 'https://h:6443', config: { a: [1] } });
  assert.match(Buffer.from(data, 'base64').toString(), /BEGIN CERTIFICATE/);
  assert.equal(run.exitCode, 12);
  assert.match(
    run.stdout,
    /error \[ANSWER_WRONG_VERSION\]: the plugin answered in client\.authentication\.k8s\.io\/v1, but is configured for .*v1beta1/,
  );
  for (const [args, said] of [
    [['--server', 'ftp://h', '--', 'true'], /^error: --server: has the scheme ftp:\/\//],
    [['--server', 'https://h', '--config', `{"${secret}`, '--', 'true'], /^error: --config is not JSON/],
    [[], /^error: run-plugin needs a command after --/],
  ] as const) {
    const { stderr, exitCode } = await runProgram(t, ['run-plugin', ...args]);
    assert.match(stderr, said);
    assert.ok(!stderr.includes(secret), stderr);
    assert.equal(exitCode, 2);
  }
});

test('run-plugin says why there is no answer: exit codes, signals, time, a missing file', async (t) => {
  const failing = await shellPlugin(t, `echo "login failed for me, password=${secret}" >&2; exit 7`);
  const killed = await shellPlugin(t, 'kill -9 $$');
  const slow = await shellPlugin(t, 'exec sleep 60');
  const [exit, signal, time, missing] = await Promise.all([
    runProgram(t, ['run-plugin', '--', failing.command]),
    runProgram(t, ['run-plugin', '--', killed.command]),
    runProgram(t, ['run-plugin', '--timeout', '300ms', '--', slow.command]),
    runProgram(t, ['run-plugin', '--', '/nowhere/plugin']),
  ]);
  assert.match(
    exit.stdout,
    /^run {9}exit code 7 .*\nstderr {6}login failed for me, password=\[redacted\]\nerror \[PLUGIN_FAILED\]: the plugin failed with exit code 7$/m,
  );
  assert.match(
    signal.stdout,
    /^run {9}ended by SIGKILL .*\nerror \[PLUGIN_SIGNALED\]: the plugin was killed by SIGKILL: check its memory limit/m,
  );
  assert.match(time.stdout, /^error \[PLUGIN_TIMEOUT\]: the plugin did not end within 300 ms and was killed/m);
  assert.match(missing.stdout, /^error \[PLUGIN_NOT_FOUND\]: the plugin was not found/m);
  for (const { exitCode } of [exit, signal, time, missing]) assert.equal(exitCode, 12);
});

test('run-plugin prints what docs/command-line.md says', async (t) => {
  const plugin = await shellPlugin(
    t,
    `echo "logging in" >&2\n${print({ token: `${secret}\n`, expirationTimeStamp: 'x' })}`,
  );
  const { stdout } = await runProgram(t, ['run-plugin', '--', plugin.command]);
  const printed = withoutRun(`${stdout}\n`, { [plugin.command]: '/home/me/plugin' }).replace(
    /after \d+ ms/,
    'after 12 ms',
  );
  assertDocumented('clusterprofile run-plugin -- ./plugin', printed);
});

test('run-plugin shows nothing of stderr that the arguments or the environment say is secret', async (t) => {
  const given = 'hunter2-hunter2';
  const plugin = await shellPlugin(t, `echo "with $API_TOKEN and $2" >&2\n${print({ token: secret })}`);
  const command = ['--', plugin.command, '--client-secret', `${given}-argument`];
  const { stdout, stderr } = await runProgram(t, ['run-plugin', ...command], { env: { API_TOKEN: `${given}-shell` } });
  assert.match(stdout, /^stderr {6}with \[redacted\] and \[redacted\]$/m);
  assert.ok(!`${stdout}${stderr}`.includes('hunter2'));
});
