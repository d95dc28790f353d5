import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type FlagValues, parseFlags } from '../../src/access/flags.ts';
import { google, problemsOf, provider } from '../fixtures/flags.ts';

function commandLine(value: string): readonly string[] {
  const [parsed] = parseFlags(provider(value)).providers;
  assert.ok(parsed);
  return [parsed.execConfig.command, ...parsed.execConfig.args];
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
    const words = ['/bin/p', 'a b', 'c\\d', 'e"f\\g', '', 'hij'];
    assert.deepEqual(commandLine(String.raw`x=/bin/p a\ b 'c\d' "e\"f\g" '' h'i'"j"`), words);
    assert.deepEqual(commandLine('x=/bin/p\ta\n b'), ['/bin/p', 'a', 'b']);
  });

  test('expands nothing', () => {
    const words = ['$HOME', '*', ';', '|', '#', '~', '&', '`id`', '$(id)', '>x', '{a,b}'];
    assert.deepEqual(commandLine(`x=/bin/p ${words.join(' ')}`), ['/bin/p', ...words]);
  });

  test('gives flag-configured providers their defaults', () => {
    const [parsed] = parseFlags(provider(google)).providers;
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/usr/bin/plugin' };
    assert.deepEqual(parsed, {
      name: 'google',
      execConfig: { ...exec, args: [], env: [], provideClusterInfo: true, interactiveMode: 'Never' },
      profileSourcedCLIArgsPolicy: 'Ignore',
      profileSourcedEnvVarsPolicy: 'Ignore',
      allowInsecureTLS: false,
      acceptedVersions: ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'],
    });
  });

  test('keeps the order in which the providers are given', () => {
    const names = parseFlags(provider('b=x', 'a=y')).providers.map(({ name }) => name);
    assert.deepEqual(names, ['b', 'a']);
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
    assert.equal(parsed?.acceptedVersions, undefined);
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
    const twice = option('google=allowInsecureTLS=true', 'google=allowInsecureTLS=false');
    assert.match(problemsOf(twice).join(), /set twice/);
  });
});

describe('the policy flags', () => {
  test('apply to every flag-configured provider when bare; one with a type beats a bare one', () => {
    const { providers } = parseFlags({
      ...provider('a=x', 'b=y'),
      'clusterprofile-sourced-cli-args-policy': ['b=Ignore', 'Append'],
      'clusterprofile-sourced-env-vars-policy': ['Replace', 'a=AppendIfNotExists'],
    });
    const policies = providers.map((one) => `${one.profileSourcedCLIArgsPolicy} ${one.profileSourcedEnvVarsPolicy}`);
    assert.deepEqual(policies, ['Append AppendIfNotExists', 'Ignore Replace']);
  });

  for (const [what, value, expected] of [
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
