import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseArgs } from 'node:util';
import { flagOptions, parseFlags, pickFlags } from '../../src/access/flags.ts';
import { google, problemsOf } from '../fixtures/flags.ts';

function argvProblems(argv: readonly string[]): readonly string[] {
  const { values, problems } = pickFlags(argv);
  return problemsOf(values, problems);
}

describe('the flags for options', () => {
  test('set what they are named after', () => {
    const argv = [
      '--clusterprofile-plugin-timeout=1m30s',
      '-clusterprofile-max-concurrent-runs',
      '16',
      '--clusterprofile-max-response-bytes=1048576',
      '--clusterprofile-strict-plugin-files',
      '--clusterprofile-clean-environment=false',
    ];
    assert.deepEqual(parseFlags(pickFlags(argv).values).options, {
      pluginTimeoutMs: 90_000,
      maxConcurrentPlugins: 16,
      maxResponseBytes: 1_048_576,
      strictPluginFiles: true,
      cleanEnvironment: false,
    });
  });

  for (const [flag, value, expected] of [
    ['plugin-timeout', '30', 'must be a duration as Go writes it, such as 30s'],
    ['plugin-timeout', '0s', 'from 1ms to 596h'],
    ['plugin-timeout', '600h', 'from 1ms to 596h'],
    ['max-concurrent-runs', '0', 'must be a whole number of 1 or more'],
    ['max-response-bytes', '512Mi', 'must be a whole number of 1 or more'],
    ['max-concurrent-runs', '1.5', 'must be a whole number'],
    ['max-concurrent-runs', '9'.repeat(20), 'must be a whole number'],
  ] as const) {
    test(`refuse --clusterprofile-${flag}=${value}`, () => {
      const [problem = '', ...more] = argvProblems([`--clusterprofile-${flag}=${value}`]);
      assert.ok(problem.startsWith(`--clusterprofile-${flag} "${value}": `) && problem.includes(expected), problem);
      assert.deepEqual(more, []);
    });
  }
});

describe('the flags of the plugin policy', () => {
  const [policy, list] = ['--clusterprofile-plugin-policy', '--clusterprofile-plugin-allowlist'];
  test('give the list of plugins, with the digests that are pinned', () => {
    const sha256 = '0'.repeat(64);
    const { values } = pickFlags([`${policy}=Allowlist`, `${list}=/x`, `${list}=/y@sha256:${sha256}`]);
    const allowlist = [{ command: '/x' }, { command: '/y', sha256 }];
    assert.deepEqual(parseFlags(values).options.pluginPolicy, { policyType: 'Allowlist', allowlist });
  });

  for (const [args, path, message] of [
    [[`${policy}=Allowlist`, `${list}=./x`], `${list} "./x"`, 'is a relative path: write an absolute one'],
    [[`${policy}=Allowlist`, `${list}=/x,/y`], `${list} "/x,/y"`, 'holds a comma'],
    [[`${policy}=Allowlist`, `${list}=/x@sha256:abc`], `${list} "/x@sha256:abc"`, 'must be the SHA-256 of the file'],
    [[`${policy}=Allowlist`], list, 'is missing or empty: name the plugins'],
    [[`${policy}=DenyAll`, `${list}=/x`], list, `does nothing with DenyAll: set policyType (${policy})`],
    [[`${list}=/x`], list, `does nothing with AllowAll: set policyType (${policy})`],
    [[`${policy}=allowlist`], `${policy} "allowlist"`, 'must be AllowAll, DenyAll, Allowlist'],
  ] as const) {
    test(`are named where they are wrong: ${args.join(' ')}`, () => {
      const [problem = '', ...more] = argvProblems([...args]);
      assert.ok(problem.startsWith(`${path}: ${message}`), problem);
      assert.deepEqual(more, []);
    });
  }
});

describe('a flag that is none of ours', () => {
  for (const [flag, meant] of [
    ['--clusterprofile-plugin-polcy=DenyAll', 'plugin-policy'],
    ['-clusterprofile-access-providers', 'access-provider'],
    ['--clusterprofile_strict_plugin_files', 'strict-plugin-files'],
    ['--ClusterProfile-Hardened', 'hardened'],
    ['--clusterprofile-plugin-alowlist', 'plugin-allowlist'],
  ] as const) {
    test(`is an error where it begins as ours do, and is nearly one: ${flag}`, () => {
      const [problem = '', ...more] = argvProblems([flag]);
      assert.ok(problem.endsWith(`: is not a flag (did you mean --clusterprofile-${meant}?)`), problem);
      assert.deepEqual(more, []);
    });
  }

  test('is an error where it is far from ours, and all are listed', () => {
    const [problem = ''] = argvProblems(['--clusterprofile-namespace=x']);
    assert.match(problem, /^--clusterprofile-namespace: is not a flag; known are --clusterprofile-access-provider, /);
    for (const flag of Object.keys(flagOptions)) assert.ok(problem.includes(`--${flag}`), flag);
  });

  test('is left alone where it does not begin as ours do, is a value of ours, or stands after "--"', () => {
    const after = ['--', '--clusterprofile-x', '--clusterprofile-access-provider', google];
    const argv = ['--cluster', '--clusterprofile', '--clusterprofile-provider-file=--clusterprofile-x', ...after];
    assert.deepEqual(pickFlags(argv), {
      values: { 'clusterprofile-provider-file': '--clusterprofile-x' },
      problems: [],
      rest: ['--cluster', '--clusterprofile', ...after],
      given: ['--clusterprofile-provider-file=--clusterprofile-x'],
    });
  });

  test('is told together with every other mistake', () => {
    const argv = [
      '--clusterprofile-plugin-polcy=DenyAll',
      '--clusterprofile-hardened=maybe',
      '--clusterprofile-access-provider=google',
      '--clusterprofile-plugin-timeout=soon',
      '--clusterprofile-provider-file',
    ];
    assert.equal(argvProblems(argv).length, 5);
  });
});

describe('an argv', () => {
  test('gives up our flags and nothing else; one leading dash is as good as two', () => {
    const argv = `node x.js --port 1 -clusterprofile-access-provider ${google} -v --clusterprofile-provider-file=/p`;
    assert.deepEqual(pickFlags(argv.split(' ')).values, {
      'clusterprofile-access-provider': [google],
      'clusterprofile-provider-file': '/p',
    });
  });

  test('is an error when a flag has no value', () => {
    const flag = '--clusterprofile-access-provider';
    for (const argv of [[flag], [flag, '--clusterprofile-provider-file=/p']])
      assert.match(argvProblems(argv).join(), /--clusterprofile-access-provider: needs a value/);
  });

  test('is an error when two provider files are given', () => {
    const twice = ['-clusterprofile-provider-file=a', '-clusterprofile-provider-file=b'];
    assert.match(argvProblems(twice).join(), /--clusterprofile-provider-file: is given more than once/);
  });

  test('means the same as the values of parseArgs', () => {
    const args = ['--clusterprofile-access-provider', google, '--clusterprofile-sourced-cli-args-policy', 'Append'];
    const { values } = parseArgs({ args, options: { ...flagOptions, port: { type: 'string' } } });
    assert.deepEqual(parseFlags(values), parseFlags(pickFlags(args).values));
  });
});
