import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { configureProviders, parseProviderFile } from '../../src/access/provider-schema.ts';
import { ConfigurationError } from '../../src/errors/index.ts';
import { thrownBy } from '../fixtures/thrown.ts';

const yaml = `providers:
- name: google
  execConfig:
    apiVersion: client.authentication.k8s.io/v1
    command: /usr/bin/gke-gcloud-auth-plugin
    args: ["--flag1", "value1"]
    env: [{ name: FOO, value: bar }]
    provideClusterInfo: true
    installHint: install it
    interactiveMode: IfAvailable
  profileSourcedCLIArgsPolicy: Append
  profileSourcedEnvVarsPolicy: Replace
`;
const json = JSON.stringify(parse(yaml), null, '\t');

function problemsOf(text: string): readonly { path: string; line?: number; message: string }[] {
  const error = thrownBy(ConfigurationError, () => parseProviderFile(text, '/etc/providers.yaml'));
  assert.equal(error.code, 'PROVIDER_FILE_INVALID');
  assert.match(error.message, /^provider file \/etc\/providers\.yaml: /);
  return error.problems;
}

describe('a provider file', () => {
  test('may be YAML or JSON, indented with tabs too', () => {
    const providers = parseProviderFile(yaml, 'p');
    assert.deepEqual(providers, parseProviderFile(json, 'p'));
    assert.deepEqual(providers[0]?.execConfig.args, ['--flag1', 'value1']);
    assert.equal(providers[0]?.profileSourcedEnvVarsPolicy, 'Replace');
  });

  test('has defaults: no cluster information, no interaction, policies Ignore, TLS verified', () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' };
    const [provider] = parseProviderFile(JSON.stringify({ providers: [{ name: 'a', execConfig: exec }] }), 'p');
    assert.deepEqual(provider, {
      name: 'a',
      execConfig: { ...exec, args: [], env: [], provideClusterInfo: false, interactiveMode: 'Never' },
      profileSourcedCLIArgsPolicy: 'Ignore',
      profileSourcedEnvVarsPolicy: 'Ignore',
      allowInsecureTLS: false,
    });
  });

  test('reports every problem at once, with line and path', () => {
    const problems = problemsOf(`providers:
- name: google
  execConfig:
    apiVersion: client.authentication.k8s.io/v2
    comand: /bin/x
    command: 7
- name: azure
  execConfig:
    apiVersion: client.authentication.k8s.io/v1
    command: x
    interactiveMode: never
    env: [{ name: "A=B", value: x }, { name: KUBERNETES_EXEC_INFO, value: x }]
  profileSourcedCLIArgsPolicy: Replace
  profileSourcedEnvPolicy: Replace
`);
    const report = problems.map(({ path, line }) => `${line} ${path}`).sort();
    assert.deepEqual(report, [
      '11 providers[1].execConfig.interactiveMode',
      '12 providers[1].execConfig.env[0].name',
      '12 providers[1].execConfig.env[1].name',
      '13 providers[1].profileSourcedCLIArgsPolicy',
      '14 providers[1].profileSourcedEnvPolicy',
      '4 providers[0].execConfig.apiVersion',
      '5 providers[0].execConfig.comand',
      '6 providers[0].execConfig.command',
    ]);
    const text = problems.map(({ message }) => message).join('\n');
    assert.match(text, /did you mean command\?/);
    assert.match(text, /did you mean Never\?/);
    assert.match(text, /did you mean profileSourcedEnvVarsPolicy\?/);
  });

  test('refuses a duplicate name, which could never be used', () => {
    const entry = '- {name: a, execConfig: {apiVersion: client.authentication.k8s.io/v1, command: x}}\n';
    const [problem] = problemsOf(`providers:\n${entry}${entry}`);
    assert.deepEqual(problem, {
      path: 'providers[1].name',
      line: 3,
      column: 10,
      message: '"a" is already the name of providers[0]: name each access type once',
    });
  });

  test('reports a key that stands twice beside every other mistake', () => {
    const problems = problemsOf(`providers:
- { name: google, execConfig: { apiVersion: client.authentication.k8s.io/v1, command: 7 } }
- name: google
  name: google
  execConfig: { apiVersion: client.authentication.k8s.io/v1, command: x }
- 7
- { execConfig: {} }
- { execConfig: {} }
`);
    assert.deepEqual(problems.map(({ path, line }) => `${line} ${path}`).sort(), [
      '2 providers[0].execConfig.command',
      '4 ',
      '6 providers[2]',
      '7 providers[3].execConfig.apiVersion',
      '7 providers[3].execConfig.command',
      '7 providers[3].name',
      '8 providers[4].execConfig.apiVersion',
      '8 providers[4].execConfig.command',
      '8 providers[4].name',
    ]);
  });

  for (const [what, text, expected] of [
    ['empty', '', /is empty/],
    ['null', 'null', /is empty/],
    ['a list', '[]', /must be an object/],
    ['without providers', '{}', /must be a list of providers/],
    ['an unknown field at the top', 'provider: []', /did you mean providers\?/],
    ['a key that stands twice', 'providers: []\nproviders: []', /is given twice/],
    ['an alias without an anchor', 'providers: *x', /alias/],
  ] as const) {
    test(`that is ${what} is refused`, () => {
      const messages = problemsOf(text).map(({ message }) => message);
      assert.match(messages.join(), expected);
    });
  }

  test('never shows its own text in an error, which may be a Secret mounted by mistake', () => {
    const secret = 'SECRET-fd1a6c';
    const texts = [`{"token": "${secret}`, `a: b: ${secret}`, `providers: "${secret}"`];
    for (const text of [...texts, `providers: [{name: "${secret}\0"}]`]) {
      const { message, cause } = thrownBy(Error, () => parseProviderFile(text, 'p'));
      assert.ok(!message.includes(secret) && !String(cause ?? '').includes(secret));
    }
  });
});

describe('providers given in code', () => {
  test('are validated like a file', () => {
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } as const;
    // @ts-expect-error a policy that does not exist
    const wrong = () => configureProviders([{ name: 'a', execConfig, profileSourcedCLIArgsPolicy: 'append' }]);
    assert.throws(wrong, { name: 'ConfigurationError', code: 'PROVIDER_INVALID', message: /mean Append/ });
  });

  test('keep each environment variable once, the last value at the first place', () => {
    const variables = (...pairs: string[]) => pairs.map(([name = '', value = '']) => ({ name, value }));
    const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } as const;
    const [provider] = configureProviders([
      { name: 'a', execConfig: { ...execConfig, env: variables('A1', 'B2', 'A3') } },
    ]);
    assert.deepEqual(provider?.execConfig.env, variables('A3', 'B2'));
  });
});
