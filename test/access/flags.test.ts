import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseArgs } from 'node:util';
import { type FlagValues, flagOptions, parseFlags, pickFlags } from '../../src/access/flags.ts';
import { ConfigurationError, type Problem } from '../../src/errors.ts';

const provider = (...values: string[]): FlagValues => ({ 'clusterprofile-access-provider': values });
const google = 'google=/usr/bin/plugin';

function commandLine(value: string): readonly string[] {
  const [parsed] = parseFlags(provider(value)).providers;
  assert.ok(parsed);
  return [parsed.execConfig.command, ...parsed.execConfig.args];
}

function problemsOf(values: FlagValues, before: readonly Problem[] = []): readonly string[] {
  try {
    parseFlags(values, before);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    assert.equal(error.code, 'FLAG_INVALID');
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  throw new assert.AssertionError({ message: 'no error' });
}

function argvProblems(argv: readonly string[]): readonly string[] {
  const { values, problems } = pickFlags(argv);
  return problemsOf(values, problems);
}

describe('--clusterprofile-access-provider', () => {
  test("takes the spec's own example, with the quotes that a Deployment's args list leaves in place", () => {
    const words = ['/usr/bin/gke-gcloud-auth-plugin', '--flag1', 'value1', '--flag2', 'value2'];
    assert.deepEqual(commandLine("google='/usr/bin/gke-gcloud-auth-plugin --flag1 value1 --flag2 value2'"), words);
    assert.deepEqual(commandLine('google=/usr/bin/gke-gcloud-auth-plugin --flag1 value1 --flag2 value2'), words);
    assert.deepEqual(commandLine('google="/usr/bin/gke-gcloud-auth-plugin --flag1 value1 --flag2 value2"'), words);
  });

  test('ends the access type at the first "="', () => {
    assert.deepEqual(commandLine('google=/bin/p --a=b=c'), ['/bin/p', '--a=b=c']);
  });

  test('unwraps once, and only quotes whose partner is the last character', () => {
    assert.deepEqual(commandLine(`x='/opt/my plugin' --y 'a b'`), ['/opt/my plugin', '--y', 'a b']);
    assert.deepEqual(commandLine(`x='"/opt/my plugin" --y'`), ['/opt/my plugin', '--y']);
    assert.deepEqual(commandLine(String.raw`x="/bin/p --say \"a b\""`), ['/bin/p', '--say', 'a b']);
  });

  test('splits words as a POSIX shell does', () => {
    assert.deepEqual(commandLine(String.raw`x=/bin/p a\ b 'c\d' "e\"f\g" '' h'i'"j"`), [
      '/bin/p',
      'a b',
      'c\\d',
      'e"f\\g',
      '',
      'hij',
    ]);
    assert.deepEqual(commandLine('x=/bin/p\ta\n b'), ['/bin/p', 'a', 'b']);
  });

  test('expands nothing', () => {
    const words = ['$HOME', '*', ';', '|', '#', '~', '&', '`id`', '$(id)', '>x', '{a,b}'];
    assert.deepEqual(commandLine(`x=/bin/p ${words.join(' ')}`), ['/bin/p', ...words]);
  });

  test('gives flag-configured providers their defaults', () => {
    const [parsed] = parseFlags(provider(google)).providers;
    assert.deepEqual(parsed, {
      name: 'google',
      execConfig: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: '/usr/bin/plugin',
        args: [],
        env: [],
        provideClusterInfo: true,
        interactiveMode: 'Never',
      },
      profileSourcedCLIArgsPolicy: 'Ignore',
      profileSourcedEnvVarsPolicy: 'Ignore',
      allowInsecureTLS: false,
      acceptedVersions: ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'],
    });
  });

  test('keeps the order in which the providers are given', () => {
    assert.deepEqual(
      parseFlags(provider('b=x', 'a=y')).providers.map(({ name }) => name),
      ['b', 'a'],
    );
  });

  for (const [what, value, shown, expected] of [
    ['without "="', 'hunter2', '', 'has no "="'],
    ['without a type', '=/bin/p --password hunter2', ' "=..."', 'has no access type'],
    ['without a command', 'google=', ' "google=..."', 'has no command'],
    ['with an empty quoted command', `google='' hunter2`, ' "google=..."', 'has no command'],
    ['with an unclosed single quote', `google=/bin/p hunter2 'a`, ' "google=..."', "quote ' is never closed"],
    ['with an unclosed double quote', 'google=/bin/p hunter2 "a', ' "google=..."', 'quote " is never closed'],
    ['with a NUL', 'google=/bin/p a\0b hunter2', ' "google=..."', 'NUL'],
  ] as const) {
    test(`is an error ${what}, which names the access type, and nothing of the value`, () => {
      const [problem = ''] = problemsOf(provider(value));
      assert.ok(problem.startsWith(`--clusterprofile-access-provider${shown}: `), problem);
      assert.ok(problem.includes(expected), problem);
      assert.doesNotMatch(problem, /hunter2/);
    });
  }

  test('is an error when a type is given twice', () => {
    assert.match(problemsOf(provider(google, google)).join(), /"google" is configured twice/);
  });

  test('reports every malformed flag at once', () => {
    assert.equal(problemsOf(provider('a', '=b', `c='`)).length, 3);
  });
});

describe('--clusterprofile-access-provider-option', () => {
  const option = (...values: string[]): FlagValues => ({
    ...provider(google),
    'clusterprofile-access-provider-option': values,
  });

  test('sets any other field of the provider, with a YAML value', () => {
    const [parsed] = parseFlags(
      option(
        'google=execConfig.apiVersion=client.authentication.k8s.io/v1beta1',
        'google=execConfig.env=[{name: A, value: "x=y"}]',
        'google=execConfig.provideClusterInfo=false',
        'google=allowInsecureTLS=true',
      ),
    ).providers;
    assert.equal(parsed?.execConfig.apiVersion, 'client.authentication.k8s.io/v1beta1');
    assert.deepEqual(parsed?.acceptedVersions, ['client.authentication.k8s.io/v1beta1']);
    assert.deepEqual(parsed?.execConfig.env, [{ name: 'A', value: 'x=y' }]);
    assert.equal(parsed?.execConfig.provideClusterInfo, false);
    assert.equal(parsed?.allowInsecureTLS, true);
  });

  for (const [what, value, shown, expected] of [
    ['for a type that no flag configures', 'goggle=allowInsecureTLS=true', 'goggle=allowInsecureTLS', 'mean google?'],
    ['without a field', 'google=hunter2', 'google', 'must be the access type'],
    [
      'with an unknown field',
      'google=execConfg.env=[{name: CLIENT_SECRET, value: hunter2}]',
      'google=execConfg.env',
      'did you mean execConfig.env?',
    ],
    ['for what the provider flag says', 'google=execConfig.command=/x hunter2', 'google=execConfig.command', 'already'],
    ['with a value of the wrong type', 'google=allowInsecureTLS=hunter2', 'google=allowInsecureTLS', 'true or false'],
    ['with a value that is not YAML', 'google=execConfig.env=[{ hunter2', 'google=execConfig.env', 'is not YAML'],
    [
      'with a bad list item',
      'google=execConfig.env=[{name: hunter2}]',
      'google=execConfig.env',
      'execConfig.env[0].value must be text',
    ],
  ] as const) {
    test(`is an error ${what}, which names the access type and the field, and nothing of the value`, () => {
      const [problem = '', ...more] = problemsOf(option(value));
      assert.ok(problem.includes(` ${JSON.stringify(`${shown}=...`)}: `) && problem.includes(expected), problem);
      assert.doesNotMatch(problem, /hunter2/);
      assert.deepEqual(more, []);
    });
  }

  test('is an error when a field is set twice', () => {
    assert.match(
      problemsOf(option('google=allowInsecureTLS=true', 'google=allowInsecureTLS=false')).join(),
      /set twice/,
    );
  });
});

describe('the policy flags', () => {
  test('apply to every flag-configured provider when bare; one with a type beats a bare one', () => {
    const { providers } = parseFlags({
      ...provider('a=x', 'b=y'),
      'clusterprofile-sourced-cli-args-policy': ['b=Ignore', 'Append'],
      'clusterprofile-sourced-env-vars-policy': ['Replace', 'a=AppendIfNotExists'],
    });
    assert.deepEqual(
      providers.map((parsed) => [parsed.profileSourcedCLIArgsPolicy, parsed.profileSourcedEnvVarsPolicy]),
      [
        ['Append', 'AppendIfNotExists'],
        ['Ignore', 'Replace'],
      ],
    );
  });

  for (const [what, value, expected] of [
    ['an unknown policy', 'Apend', 'did you mean Append?'],
    ['a policy of the other flag', 'Replace', 'write Append or Ignore'],
    ['a type that no flag configures', 'aws=Append', 'configured by no --clusterprofile-access-provider'],
    ['an empty type', '=Append', 'has no access type'],
  ] as const) {
    test(`refuse ${what}`, () => {
      const [problem = ''] = problemsOf({ ...provider(google), 'clusterprofile-sourced-cli-args-policy': [value] });
      assert.ok(problem.includes(JSON.stringify(value)) && problem.includes(expected), problem);
    });
  }

  test('refuse a policy given twice, and a bare one that could apply to nothing', () => {
    const twice = { ...provider(google), 'clusterprofile-sourced-cli-args-policy': ['google=Append', 'google=Ignore'] };
    assert.match(problemsOf(twice).join(), /set twice/);
    assert.match(problemsOf({ 'clusterprofile-sourced-cli-args-policy': ['Append'] }).join(), /no flag configures/);
  });
});

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
      timeoutMs: 90_000,
      maxConcurrentRuns: 16,
      maxResponseBytes: 1_048_576,
      strictPluginFiles: true,
      cleanEnvironment: false,
    });
  });

  for (const [flag, value, expected] of [
    ['plugin-timeout', '30', 'must be a duration as Go writes it, such as 30s'],
    ['plugin-timeout', '0s', 'from 1ms to 596h'],
    ['plugin-timeout', '-1s', 'from 1ms to 596h'],
    ['plugin-timeout', '600h', 'from 1ms to 596h'],
    ['plugin-timeout', '', 'must be a duration'],
    ['max-concurrent-runs', '0', 'must be a whole number of 1 or more'],
    ['max-response-bytes', '512Mi', 'must be a whole number of 1 or more'],
    ['max-response-bytes', '0', 'must be a whole number of 1 or more'],
    ['max-concurrent-runs', '1.5', 'must be a whole number'],
    ['max-concurrent-runs', '1e3', 'must be a whole number'],
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
  for (const [args, path, message] of [
    [[`${policy}=Allowlist`, `${list}=./x`], `${list} "./x"`, 'is a relative path: write an absolute one'],
    [[`${policy}=Allowlist`, `${list}=/x,/y`], `${list} "/x,/y"`, 'holds a comma'],
    [[`${policy}=Allowlist`, `${list}=/x@sha256:abc`], `${list} "/x@sha256:abc"`, 'must be the SHA-256 of the file'],
    [[`${policy}=Allowlist`], `${policy} Allowlist`, `needs ${list}`],
    [[`${policy}=DenyAll`, `${list}=/x`], list, `does nothing with ${policy} DenyAll`],
    [[`${list}=/x`], list, `does nothing without ${policy} Allowlist`],
    [
      [`${policy}=allowlist`],
      `${policy} "allowlist"`,
      'must be AllowAll, DenyAll, Allowlist (did you mean Allowlist?)',
    ],
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

  test('is an error among the values of a parser that takes any flag', () => {
    const args = ['--clusterprofile-plugin-polcy=DenyAll', '--port=1'];
    const { values } = parseArgs({ args, options: flagOptions, strict: false });
    const [problem = '', ...more] = problemsOf(values as FlagValues); // a parser that is not strict has no types
    assert.match(
      problem,
      /--clusterprofile-plugin-polcy: is not a flag \(did you mean --clusterprofile-plugin-policy\?\)/,
    );
    assert.deepEqual(more, []);
  });

  test('is left alone where it does not begin as ours do, is a value of ours, or stands after "--"', () => {
    const argv = [
      '--cluster',
      '--clusterprofile',
      `--clusterprofile-provider-file=--clusterprofile-x`,
      '--',
      '--clusterprofile-x',
    ];
    assert.deepEqual(pickFlags(argv), {
      values: { 'clusterprofile-provider-file': '--clusterprofile-x' },
      problems: [],
      rest: ['--cluster', '--clusterprofile', '--', '--clusterprofile-x'],
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
    const argv = [
      'node',
      'x.js',
      '--port',
      '1',
      '-clusterprofile-access-provider',
      google,
      '-v',
      '--clusterprofile-provider-file=/p',
    ];
    assert.deepEqual(pickFlags(argv).values, {
      'clusterprofile-access-provider': [google],
      'clusterprofile-provider-file': '/p',
    });
  });

  test('is left alone after "--"', () => {
    const argv = ['--', '--clusterprofile-access-provider', google];
    assert.deepEqual(pickFlags(argv), { values: {}, problems: [], rest: argv, given: [] });
  });

  test('is an error when a flag has no value', () => {
    for (const argv of [
      ['--clusterprofile-access-provider'],
      ['--clusterprofile-access-provider', '--clusterprofile-provider-file=/p'],
    ]) {
      assert.match(argvProblems(argv).join(), /--clusterprofile-access-provider: needs a value/);
    }
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
