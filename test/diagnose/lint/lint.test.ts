import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { linesFor, provider } from '../../fixtures/linted.ts';

describe('a provider file', () => {
  test('has nothing said of it where it is as it should be', () => assert.deepEqual(linesFor(provider()), []));

  test('is told by what stands in it, and every problem has its line and column', () => {
    const text = provider().replace('command:', 'comand:').replace('name: google', 'name: 7');
    assert.deepEqual(linesFor(text), [
      '0.yaml:2:9: error: providers[0].name: must be the name of an access type (PROVIDER_FILE_INVALID)',
      '0.yaml:4:5: error: providers[0].execConfig.command: must be the path or name of an executable (PROVIDER_FILE_INVALID)',
      '0.yaml:5:13: error: providers[0].execConfig.comand: is not a known field (did you mean command?) (PROVIDER_FILE_INVALID)',
    ]);
  });

  test('is told to be broken or empty', () => {
    assert.match(linesFor('providers:\n- name: "google\n').join(), /^0\.yaml:3:1: error: is neither JSON nor YAML/);
    assert.match(linesFor('').join(), /^0\.yaml:1:1: error: is empty/);
    assert.match(
      linesFor(`${provider()}---\n${provider()}`).join(),
      /^0\.yaml:8:1: error: begins a second document.*\(DOCUMENT_NOT_READ\)$/,
    );
    assert.match(linesFor('provider: []\n').join(), /provider: is not a known field \(did you mean providers\?\)/);
  });

  for (const [rule, text, said] of [
    [
      'NO_ALLOWED_SERVERS',
      provider().replace(/ {2}allowedServers.*\n/, ''),
      /^0\.yaml:2:3: warning: providers\[0\]\.allowed/,
    ],
    ['ARGS_WITHOUT_RULES', provider('  profileSourcedCLIArgsPolicy: Append\n'), /:7:32: warning: .*allowedArgs/],
    [
      'ENV_VARS_WITHOUT_RULES',
      provider('  profileSourcedEnvVarsPolicy: Replace\n'),
      /:7:32: warning: .*allowedEnvVars/,
    ],
    ['INSECURE_TLS_ALLOWED', provider('  allowInsecureTLS: true\n'), /:7:21: warning: .*TLS verification off/],
    ['COMMAND_RELATIVE', provider().replace('/plugins/google', 'bin/google'), /:5:14: warning: .*absolute path/],
    [
      'SECRET_IN_PROVIDER',
      provider().replace('/plugins/google', '/plugins/google\n    env: [{ name: CLIENT_SECRET, value: s3cr3t }]'),
      /:6:41: warning: providers\[0\]\.execConfig\.env\[0\]\.value: looks like a secret, (?!.*s3cr3t)/,
    ],
    [
      'SECRET_IN_PROVIDER',
      provider().replace('/plugins/google', '/plugins/google\n    args: [--user, me, --password, s3cr3t]'),
      /:6:36: warning: providers\[0\]\.execConfig\.args\[3\]: looks like a secret, (?!.*s3cr3t)/,
    ],
    ['VERSION_OUTDATED', provider().replace('io/v1', 'io/v1alpha1'), /:4:17: warning: .*client-go refuses/],
  ] as const) {
    test(`is advised of ${rule}: ${said}`, () => {
      const [line = '', ...more] = linesFor(text);
      assert.match(line, said);
      assert.match(line, new RegExp(`\\(${rule}\\)$`));
      assert.deepEqual(more, []);
    });
  }

  test('may name a variable, a switch or an object where a secret could stand', () => {
    const env = '[{ name: USE_TOKEN, value: "true" }, { name: TOKEN, value: $(TOKEN) }]';
    const args = '[--token, $(TOKEN), --secret, fleet/spoke-1]';
    const text = provider().replace('/plugins/google', `/plugins/google\n    env: ${env}\n    args: ${args}`);
    assert.deepEqual(linesFor(text), []);
  });

  test('that tells its plugin of the cluster needs no allowedServers', () => {
    const text = provider()
      .replace(/ {2}allowedServers.*\n/, '')
      .replace('command', 'provideClusterInfo: true\n    command');
    assert.deepEqual(linesFor(text), []);
  });

  test('in a ConfigMap has the place where its text begins, and the paths in it', () => {
    const broken = provider().replace('command:', 'comand:');
    const indented = broken.replace(/^(?=.)/gm, '    ');
    const configMap = `kind: ConfigMap\nmetadata: { name: p }\ndata:\n  other: "7"\n  providers.yaml: |\n${indented}`;
    const [missing, unknown] = linesFor(configMap);
    assert.match(missing ?? '', /^0\.yaml:5:19: error: providers\[0\]\.execConfig\.command: must be/);
    assert.match(unknown ?? '', /^0\.yaml:5:19: error: providers\[0\]\.execConfig\.comand/);
  });
});

describe('files of other programs, in the same folder', () => {
  const grafana = 'apiVersion: 1\nproviders:\n- name: default\n  orgId: 1\n';

  test('without a kind are passed over: the values of a chart, rules of alerts, a JSON patch', () => {
    assert.deepEqual(linesFor('replicaCount: 1\n', 'groups: []\n', '- { op: remove, path: /a }\n', provider()), []);
    assert.match(
      linesFor(provider().replace('providers:\n', '')).join(),
      /error: must be an object with the field providers/,
    );
    assert.match(linesFor('replicaCount: 1\n').join(), /^0\.yaml:1:1: warning: .*\(NOTHING_TO_LINT\)$/);
  });

  test('in a ConfigMap are passed over: providers of dashboards', () => {
    const map = `kind: ConfigMap\ndata:\n  dashboards.yaml: |\n${grafana.replace(/^(?=.)/gm, '    ')}`;
    assert.deepEqual(linesFor(map), []);
    assert.match(linesFor(map.replace('orgId: 1', 'execconfig: {}')).join('\n'), /did you mean execConfig\?/);
  });
});

test('files with nothing that lint knows are told of, where no other has anything', () => {
  assert.match(linesFor('kind: Secret\n').join(), /^0\.yaml:1:1: warning: holds nothing to lint.*\(NOTHING_TO_LINT\)$/);
  assert.deepEqual(linesFor('kind: Secret\n', provider()), []);
  assert.match(
    linesFor('kind: Secret\n---\nkind: "\n').join(),
    /0\.yaml:\d+:\d+: error: is neither JSON nor YAML .*\(YAML_INVALID\)$/,
  );
});
