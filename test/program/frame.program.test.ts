// What every verb has in common: arguments, help, errors, exit codes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { parse } from 'yaml';
import { assertDocumented, withoutRun } from '../fixtures/golden.ts';
import { startOperatedFleet } from '../fixtures/operated-fleet.ts';
import { programFile, runProgram, writeInput } from '../fixtures/program.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

describe('clusterprofile', () => {
  test('without arguments, with help and with --help lists its verbs on stdout', async (t) => {
    const [bare, help, flag] = await Promise.all([
      runProgram(t, []),
      runProgram(t, ['help']),
      runProgram(t, ['--help']),
    ]);
    assert.deepEqual([bare.exitCode, bare.stderr], [0, '']);
    assert.match(bare.stdout, /^Usage: clusterprofile <verb> \[options\]$/m);
    assert.match(bare.stdout, /^ {2}get +list ClusterProfiles/m);
    assert.deepEqual([help.stdout, flag.stdout], [bare.stdout, bare.stdout]);
  });

  test('is called kubectl clusterprofile in its help where kubectl has started it', async (t) => {
    const { stdout } = await runProgram(t, ['get', '--help'], { name: 'kubectl-clusterprofile' });
    assert.match(stdout, /^Usage: kubectl clusterprofile get/);
    assert.match(stdout, /^ {2}kubectl clusterprofile get -A$/m);
  });

  test('says its version', async (t) => {
    const [flag, beside, verb, data] = await Promise.all([
      runProgram(t, ['--version']),
      runProgram(t, ['get', '-V']),
      runProgram(t, ['version']),
      runProgram(t, ['version', '-o', 'json']),
    ]);
    assert.deepEqual([flag.stdout, beside.stdout], [version, version]);
    assert.equal(
      verb.stdout,
      `clusterprofile ${version}\nNode ${process.versions.node}, ${process.platform} ${process.arch}`,
    );
    assert.deepEqual(JSON.parse(data.stdout), {
      clusterprofile: version,
      node: process.versions.node,
      platform: process.platform,
      arch: process.arch,
    });
  });

  test('tells what is wrong with the arguments, what was meant and where the help is, and ends with 2', async (t) => {
    const cases = [
      [['shards', 'a'], "too many arguments for 'shards': expected 0, got 1: a", 'see clusterprofile shards --help'],
      [['list'], "unknown command 'list'", 'did you mean get? see clusterprofile --help'],
      [['-n', 'fleet', 'gte'], "unknown command 'gte'", 'did you mean get? see clusterprofile --help'],
      [['get', '--as-group', 'a'], '--as-group needs --as', 'name the user too'],
      [['get', '--outptu'], "unknown option '--outptu'", 'did you mean --output? see clusterprofile get --help'],
      [['get', '-x'], "unknown option '-x'", 'see clusterprofile get --help'],
      [['shards', '-l=a=b'], "unknown option '-l'", 'see clusterprofile shards --help'],
      [['get', '-o', 'jsn'], '--output jsn: must be one of json, yaml, wide, name', 'see clusterprofile get --help'],
      [['check', 'get', '--token=s3cret'], "unknown option '--token'", 'see clusterprofile check --help'],
      [['token=s3cret'], "unknown command 'token'", 'see clusterprofile --help'],
      [['help', 'nosuch'], "unknown command 'nosuch'", 'see clusterprofile --help'],
      [['-n', 'fleet'], 'a verb is missing', 'see clusterprofile --help'],
      [['--filename=x'], 'a verb is missing', 'see clusterprofile --help'],
      [['get', '-n'], '--namespace needs a value: <namespace>', 'see clusterprofile get --help'],
      [['--verison'], "unknown option '--verison'", 'did you mean --version? see clusterprofile --help'],
      [['resolve'], "missing required argument 'NAME'", 'see clusterprofile resolve --help'],
      [['lint'], 'lint needs the names of files', 'clusterprofile lint providers.yaml deploy/*.yaml'],
      [['get', '--', 'ls'], 'get takes no command after --', 'see clusterprofile get --help'],
      [['get', '-A', '-n', 'fleet'], '-A and -n contradict each other', 'give one of the two'],
      [['get', 'a', '-l', 'b=c'], 'names and -l contradict each other', 'give one of the two'],
      [['completion', 'tcsh'], 'there is no completion for tcsh', 'there is one for bash, zsh, fish'],
      [['get', 'a/b/c', '-f', '-'], "'a/b/c' is not the name of a ClusterProfile", 'write NAME, or NAMESPACE/NAME'],
    ] as const;
    const input = '{"kind":"ClusterProfile"}';
    const results = await Promise.all(cases.map(([args]) => runProgram(t, args, { input })));
    for (const [index, [args, message, hint]] of cases.entries()) {
      const { stdout, stderr, exitCode } = results[index] ?? {};
      assert.deepEqual([stdout, stderr, exitCode], ['', `error: ${message}\nhint:  ${hint}`, 2], args.join(' '));
    }
  });

  test('prints nothing that a terminal acts on, of arguments and of fields of profiles', async (t) => {
    const name = 'a\u001b[2J\u009b1m\u202eb';
    const input = JSON.stringify({ kind: 'ClusterProfile', metadata: { namespace: 'fleet', name } });
    const results = await Promise.all([
      ...['name', 'json', 'yaml', 'wide'].map((format) => runProgram(t, ['get', '-f', '-', '-o', format], { input })),
      runProgram(t, ['get', '-f', '-', name.slice(0, -1)], { input }),
      runProgram(t, [name]),
    ]);
    for (const { stdout, stderr } of results) {
      assert.match(`${stdout}${stderr}`, /\\u202e|\\u009b/);
      assert.doesNotMatch(`${stdout}${stderr}`, /\p{Cf}|(?!\n)\p{Cc}/u);
    }
    assert.equal(JSON.parse(results[1]?.stdout ?? '').items[0].name, name);
    assert.equal(parse(results[2]?.stdout ?? '').items[0].name, name);
  });

  test("reads the controller's flags as the controller does, wherever they stand, and tells a misspelt one", async (t) => {
    const wrong = await runProgram(t, ['get', '--clusterprofile-plugin-polcy=DenyAll', '-f', '-']);
    assert.match(
      wrong.stderr,
      /^error \[FLAG_INVALID\]: flags: --clusterprofile-plugin-polcy: .*did you mean --clusterprofile-plugin-policy/,
    );
    assert.equal(wrong.exitCode, 3);
    const input = JSON.stringify({ kind: 'ClusterProfile', metadata: { name: 'a' } });
    const first = await runProgram(t, ['-clusterprofile-access-provider', 'google=/p', 'get', '-f', '-'], { input });
    assert.match(first.stdout, /none \(NO_MATCHING_PROVIDER\)/);
  });

  test('with -v shows requests and plugin runs on stderr, each with its result and its time, and no secret', async (t) => {
    const { env, flags, hub, names } = await startOperatedFleet(t);
    const [get, check, level] = await Promise.all([
      runProgram(t, ['-v', 'get', '-l', 'env=s3cret', '-o', 'name'], { env }),
      runProgram(t, ['check', '-v', 'spoke-1', 'spoke-5', ...flags], { env }),
      runProgram(t, ['get', '-v=6', 'spoke-1', '-o', 'name'], { env }),
    ]);
    assert.match(
      get.stderr,
      new RegExp(`^GET ${hub.url}/apis/\\S+/namespaces/fleet/clusterprofiles: 200, \\d+ ms$`, 'm'),
    );
    assert.match(check.stderr, /^plugin \S+ \(google\): exit code 0, \d+ ms$/m);
    assert.match(check.stderr, /^plugin \S+ \(broken\): PLUGIN_FAILED, exit code 3, \d+ ms$/m);
    assert.match(check.stderr, /^POST https:\S+selfsubjectreviews: 201, \d+ ms$/m);
    assert.match(level.stderr, /^GET https:\S+\/clusterprofiles\/spoke-1: 200, \d+ ms$/);
    const one = await runProgram(t, ['check', 'spoke-5', '-v', '-q', ...flags], { env });
    const lines = withoutRun(one.stderr, names).replace(/\d+ ms$/gm, '12 ms');
    assertDocumented(
      'clusterprofile check spoke-5 -v -q --clusterprofile-provider-file providers.yaml 2>&1 >/dev/null',
      `${lines}\n`,
    );
    for (const { stdout, stderr } of [get, check, level]) assert.doesNotMatch(stdout + stderr, /token-1|s3cret/);
  });

  test('takes options before the verb, and values of options after =, as kubectl does', async (t) => {
    const { env, flags } = await startOperatedFleet(t);
    const { KUBECONFIG = '' } = env;
    const [before, equal, headers] = await Promise.all([
      runProgram(t, ['--kubeconfig', KUBECONFIG, '-n', 'fleet', ...flags, 'get', 'spoke-1', '-o', 'name']),
      runProgram(t, [`--kubeconfig=${KUBECONFIG}`, '--context=hub', '-A', '-o=name', 'get', 'spoke-1']),
      runProgram(t, ['get', 'spoke-1', '--no-headers=false'], { env }),
    ]);
    assert.deepEqual([before.stderr, before.stdout], ['', 'clusterprofile.multicluster.x-k8s.io/spoke-1']);
    assert.deepEqual([equal.stderr, equal.stdout], ['', 'fleet/spoke-1']);
    assert.match(headers.stdout, /^NAMESPACE/);
  });

  test('ends with 1 where its output cannot be written as a whole, and says why; with 0 where there is none', async (t) => {
    const { env } = await startOperatedFleet(t);
    const file = join(await temporaryFolder(t), 'out');
    const full = 'exec "$0" "$@" > /dev/full';
    const noSpace = /^error: the output cannot be written: ENOSPC: no space left on device, write$/;
    // In blocks of 512 bytes.
    const short = `trap '' XFSZ; ulimit -f 1; exec "$0" "$@" > '${file}'`;
    for (const [script, args, why] of [
      ...[['get'], ['--help'], ['get', '--help'], ['--version'], []].map((args) => [full, args, noSpace] as const),
      [full, ['get', '-n', 'empty'], /^No resources found in empty namespace/],
      [short, ['get', '-o', 'json'], /^error: the output cannot be written: EFBIG/],
    ] as const) {
      const run = ['-c', script, process.execPath, programFile, ...args];
      const { stderr, exitCode } = await execa('sh', run, { env, reject: false });
      assert.match(stderr, why);
      assert.equal(exitCode, stderr.startsWith('error') ? 1 : 0);
    }
  });

  test('tells a file that cannot be used, with its line, and ends with 3', async (t) => {
    const broken = await writeInput(t, 'broken.yaml', 'kind: ClusterProfile\nmetadata: {s3cret\n');
    const other = await writeInput(t, 'other.yaml', 'kind: Pod\n');
    const missing = 'error: /none.yaml does not exist\nhint:  correct the path';
    for (const [args, expected] of [
      [['get', '-f', '/none.yaml'], missing],
      [['lint', '/none.yaml'], missing],
      [['get', '-f', broken], /^error: .*broken\.yaml: line [23]: is neither JSON nor YAML \([a-z ]+\)$/],
      [['get', '-f', other], /^error: .*other\.yaml has no ClusterProfile\nhint: {2}see its field kind$/],
    ] as const) {
      const { stderr, exitCode } = await runProgram(t, args);
      if (typeof expected === 'string') assert.equal(stderr, expected);
      else assert.match(stderr, expected);
      assert.equal(exitCode, 3);
      assert.doesNotMatch(stderr, /s3cret/);
    }
  });
});
