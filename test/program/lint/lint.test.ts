import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { lineOfFinding } from '../../../src/program/lint/finding.ts';
import { type GivenFile, lint } from '../../../src/program/lint/lint.ts';

/** The findings for files that are given as text, in lines, without their advice where that is not asked for. */
function linesFor(...files: readonly (GivenFile | string)[]): readonly string[] {
  const given = files.map((file, index) => (typeof file === 'string' ? { file: `${index}.yaml`, text: file } : file));
  return lint(given).findings.map(lineOfFinding);
}

const provider = (more = '') => `providers:
- name: google
  execConfig:
    apiVersion: client.authentication.k8s.io/v1
    command: /plugins/google
  allowedServers: [https://*.example.com]
${more}`;

const profile = (cluster: string, type = 'google') => `apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: { namespace: fleet, name: spoke-1 }
status:
  accessProviders:
  - name: ${type}
    cluster: ${cluster}
`;

const deployment = (args: readonly string[], more = '') => `apiVersion: apps/v1
kind: Deployment
metadata: { name: controller, namespace: fleet }
spec:
  template:
    spec:
      containers:
      - name: controller
        args:
${args.map((arg) => `        - ${JSON.stringify(arg)}\n`).join('')}${more}`;

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

  test('is told to be cut off, broken or empty', () => {
    assert.match(linesFor(provider().trimEnd()).join(), /does not end with a line break/);
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
    ['VERSION_OUTDATED', provider().replace('io/v1', 'io/v1alpha1'), /:4:17: warning: .*client-go refuses/],
  ] as const) {
    test(`is advised of ${rule}`, () => {
      const [line = '', ...more] = linesFor(text);
      assert.match(line, said);
      assert.match(line, new RegExp(`\\(${rule}\\)$`));
      assert.deepEqual(more, []);
    });
  }

  test('that tells its plugin of the cluster needs no allowedServers', () => {
    const text = provider()
      .replace(/ {2}allowedServers.*\n/, '')
      .replace('command', 'provideClusterInfo: true\n    command');
    assert.deepEqual(linesFor(text), []);
  });

  test('in a ConfigMap has the places of the manifest', () => {
    const broken = provider().replace('command:', 'comand:');
    const indented = broken.replace(/^(?=.)/gm, '    ');
    const configMap = `kind: ConfigMap\nmetadata: { name: p }\ndata:\n  other: "7"\n  providers.yaml: |\n${indented}`;
    const [missing, unknown] = linesFor(configMap);
    assert.match(missing ?? '', /^0\.yaml:9:9: error: providers\[0\]\.execConfig\.command: must be/);
    assert.match(unknown ?? '', /^0\.yaml:10:17: error: providers\[0\]\.execConfig\.comand/);
    const quoted = `kind: ConfigMap\ndata: { providers.yaml: ${JSON.stringify(broken)} }\n`;
    assert.match(linesFor(quoted)[0] ?? '', /^0\.yaml:2:25: error: providers\[0\]/);
  });
});

describe('a ClusterProfile', () => {
  test('has every problem of every access provider told, not the first', () => {
    const text = `kind: ClusterProfile
metadata: { namespace: fleet, name: spoke-1 }
status:
  accessProviders:
  - name: google
    cluster:
      server: ftp://h
      certificate-authority-data: "?"
      tls-server-name: a b
      extensions:
      - name: clusterprofiles.multicluster.x-k8s.io/exec/additional-args
        extension: [1.5, ok, null]
      - name: clusterprofiles.multicluster.x-k8s.io/exec/additional-envs
        extension: { LD_PRELOAD: /x.so, "a=b": x, FINE: y }
  - name: other
    cluster: { server: 7 }
`;
    const places = linesFor(text).map((line) => line.replace(/: (?:has|is|must|holds|can|may).*\(/, ' ('));
    assert.deepEqual(places, [
      '0.yaml:7:15: error: status.accessProviders[0].cluster.server (SERVER_INVALID)',
      '0.yaml:8:35: error: status.accessProviders[0].cluster.certificate-authority-data (CA_INVALID)',
      '0.yaml:9:24: error: status.accessProviders[0].cluster.tls-server-name (CLUSTER_INVALID)',
      '0.yaml:12:21: error: status.accessProviders[0].cluster.extensions[0].extension[0] (ARG_INVALID)',
      '0.yaml:12:30: error: status.accessProviders[0].cluster.extensions[0].extension[2] (ARG_INVALID)',
      '0.yaml:14:34: error: status.accessProviders[0].cluster.extensions[1].extension["LD_PRELOAD"] (ENV_NOT_ALLOWED)',
      '0.yaml:14:48: error: status.accessProviders[0].cluster.extensions[1].extension["a=b"] (ENV_INVALID)',
      '0.yaml:16:24: error: status.accessProviders[1].cluster.server (CLUSTER_INVALID)',
    ]);
  });

  test('is checked with the providers that are linted beside it', () => {
    const good = profile('{ server: https://a.example.com }');
    const bad = profile('{ server: https://a.example.org }');
    assert.deepEqual(linesFor(provider(), good), []);
    assert.deepEqual(linesFor(bad), []);
    assert.match(
      linesFor(provider(), bad).join(),
      /^1\.yaml:7:24: error: .* is not in allowedServers.*\(SERVER_NOT_ALLOWED\)$/,
    );
    const other = profile('{ server: https://a.example.com }', 'gogle');
    assert.match(
      linesFor(provider(), other).join(),
      /^1\.yaml:6:3: warning: .*did the profile mean "google".*\(NO_PROVIDER\)$/,
    );
    assert.deepEqual(linesFor(other), []);
  });

  test('is told what is not applied, of the providers that are known', () => {
    const args = '{ name: clusterprofiles.multicluster.x-k8s.io/exec/additional-args, extension: [--x] }';
    const text = profile(`{ server: https://a.example.com, certificate-authority: /ca, extensions: [${args}] }`);
    assert.deepEqual(
      linesFor(text).map((line) => line.split(': ')[2]),
      ['status.accessProviders[0].cluster.certificate-authority'],
    );
    assert.match(
      linesFor(provider(), text).join('\n'),
      /profileSourcedCLIArgsPolicy of provider google is Ignore \(NOTHING_APPLIES\)/,
    );
  });

  for (const [what, status, said] of [
    ['no status', '', /1:1: warning: status: is missing.*\(NO_PROVIDER\)/],
    ['a status that is a list', 'status: []\n', /error: status: must be an object \(PROFILE_INVALID\)/],
    ['a list that is text', 'status: { accessProviders: x }\n', /error: status\.accessProviders: must be a list/],
    [
      'an entry without a name',
      'status: { accessProviders: [{ name: 7 }] }\n',
      /accessProviders\[0\]: must be an object with a name/,
    ],
    [
      'a type that stands twice',
      'status: { accessProviders: [{ name: a, cluster: { server: https://h } }, { name: a }] }\n',
      /accessProviders\[1\]\.name: "a" already stands/,
    ],
    ['no cluster', 'status: { accessProviders: [{ name: a }] }\n', /accessProviders\[0\]\.cluster: is missing/],
    [
      'the earlier name',
      'status: { credentialProviders: [{ name: a, cluster: { server: https://h } }] }\n',
      /^0\.yaml:2:32: note: .*\(FIELD_DEPRECATED\)$/,
    ],
  ] as const) {
    test(`with ${what} is told so`, () => assert.match(linesFor(`kind: ClusterProfile\n${status}`).join('\n'), said));
  }

  test('may have names that no terminal and no path can take', () => {
    const names = ['\u{e0001}=', '\u001b[31m=', 'a]"=', '"', '__proto__=', 'a.b["c"]=', `${'x'.repeat(9_000)}=`];
    const envs = Object.fromEntries(names.map((name) => [name, null]));
    const name = 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs';
    const cluster = JSON.stringify({ server: 'https://h', extensions: [{ name, extension: envs }] });
    const lines = linesFor(profile(cluster));
    assert.equal(lines.filter((line) => line.includes('ENV_INVALID')).length, names.length);
    assert.ok(!lines.join().includes('\u001b'));
    const odd = JSON.stringify({ server: 'https://h', extensions: [{ name, extension: { '\\u{ffffffff}=': '' } }] });
    assert.match(linesFor(profile(odd)).join(), /ENV_INVALID/);
  });

  test('may stand in a list, or as one of several documents, in JSON too', () => {
    const bad = profile('{ server: http://a }');
    const item = bad.replace(/^(?=.)/gm, '  ').replace('  apiVersion', '- apiVersion');
    for (const text of [`kind: List\nitems:\n${item}`, `${provider().replace(/^/, 'kind: Other\n')}---\n${bad}`]) {
      assert.match(
        linesFor(text).join('\n'),
        /error: status\.accessProviders\[0\]\.cluster\.server: is http:\/\/.*\(SERVER_INSECURE\)/,
      );
    }
    const json = { kind: 'ClusterProfileList', items: [{ status: { accessProviders: [{ name: 'a' }] } }] };
    assert.match(linesFor(JSON.stringify(json)).join('\n'), /^0\.yaml:1:\d+: error: .*CLUSTER_MISSING/);
  });
});

describe('a controller in a manifest', () => {
  test('has its flags checked where they stand', () => {
    const args = [
      '--port=1',
      '--clusterprofile-plugin-polcy=DenyAll',
      '--clusterprofile-plugin-timeout',
      'soon',
      '--clusterprofile-access-provider=a=',
    ];
    assert.deepEqual(linesFor(deployment(args)), [
      '0.yaml:11:11: error: container controller: --clusterprofile-plugin-polcy: is not a flag (did you mean --clusterprofile-plugin-policy?) (FLAG_INVALID)',
      '0.yaml:12:11: error: container controller: --clusterprofile-plugin-timeout "soon": must be a duration as Go writes it, such as 30s or 1m30s, from 1ms to 596h (FLAG_INVALID)',
      '0.yaml:14:11: error: container controller: --clusterprofile-access-provider "a=...": has no command after "a=": name the plugin\'s executable (FLAG_INVALID)',
    ]);
  });

  test('is advised to be hardened, and told what a hardened one lacks', () => {
    const flag = '--clusterprofile-access-provider=google=/plugins/google';
    assert.match(
      linesFor(deployment([flag])).join('\n'),
      /note: container controller: the controller runs without --clusterprofile-hardened/,
    );
    const hardened = linesFor(deployment([flag, '--clusterprofile-hardened'])).join('\n');
    assert.match(hardened, /error: container controller: pluginPolicy: is AllowAll, and hardened asks for Allowlist/);
    assert.match(hardened, /0\.yaml:10:11: error: provider google: has no allowedServers, which hardened asks for/);
  });

  test('has the provider file that is mounted read with it', () => {
    const args = [
      '--clusterprofile-provider-file=/etc/p/providers.yaml',
      '--clusterprofile-plugin-policy=Allowlist',
      '--clusterprofile-plugin-allowlist=/plugins/other',
      '--clusterprofile-hardened',
    ];
    const mounts = `        volumeMounts:
        - { name: p, mountPath: /etc/p }
        - { name: plugins, mountPath: /plugins }
      volumes:
      - { name: p, configMap: { name: providers } }
      - { name: plugins, emptyDir: {} }
`;
    const map = (key: string) =>
      `kind: ConfigMap\nmetadata: { name: providers, namespace: fleet }\ndata:\n  ${key}: |\n${provider().replace(/^(?=.)/gm, '    ')}`;
    const lines = linesFor(`${deployment(args, mounts)}---\n${map('providers.yaml')}`);
    assert.deepEqual(lines, [
      '0.yaml:16:11: warning: container controller: volumeMounts[1]: /plugins/google lies in a volume that the container can write to: mount it with readOnly: true (PLUGIN_MOUNT_WRITABLE)',
      '0.yaml:29:18: warning: providers[0].execConfig.command: /plugins/google is not in --clusterprofile-plugin-allowlist of container controller, so it is never run (PLUGIN_NOT_IN_ALLOWLIST)',
    ]);
    assert.match(
      linesFor(deployment(args, mounts), map('other.yaml')).join('\n'),
      /^0\.yaml:10:11: error: .*no such key \(PROVIDER_FILE_KEY_MISSING\)$/m,
    );
    const generator = 'kind: Kustomization\nconfigMapGenerator: [{ name: providers, files: [providers.yaml] }]\n';
    const files = [
      { file: 'd/deployment.yaml', text: deployment(args, mounts) },
      { file: 'd/kustomization.yaml', text: generator },
      { file: 'd/providers.yaml', text: provider() },
    ];
    assert.match(linesFor(...files).join('\n'), /^d\/providers\.yaml:5:14: warning: .*PLUGIN_NOT_IN_ALLOWLIST/m);
  });

  test('without a flag of ours is passed over, as other kinds are', () => {
    assert.deepEqual(linesFor(deployment(['--port=1']), 'kind: Secret\n'), []);
  });
});

test('image credential configs are checked as the kubelet checks them', () => {
  const text = 'kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/v1\nproviders:\n- name: a\n';
  assert.match(
    linesFor(text).join('\n'),
    /^0\.yaml:4:3: error: providers\[0\]\.apiVersion: .*\(IMAGE_CONFIG_INVALID\)$/m,
  );
});

test('files with nothing that lint knows are told of, where no other has anything', () => {
  assert.match(linesFor('kind: Secret\n').join(), /^0\.yaml:1:1: warning: holds nothing to lint.*\(NOTHING_TO_LINT\)$/);
  assert.deepEqual(linesFor('kind: Secret\n', provider()), []);
  assert.match(
    linesFor('kind: Secret\n---\nkind: "\n').join(),
    /0\.yaml:\d+:\d+: error: is neither JSON nor YAML .*\(YAML_INVALID\)$/,
  );
});

test('our own examples have nothing wrong with them', () => {
  const folder = new URL('../../../examples/deploy/', import.meta.url);
  const names = ['base', 'gke', 'eks', 'aks', 'plain'].flatMap((kind) =>
    ['deployment', 'providers', 'kustomization', 'profiles'].map((name) => `${kind}/${name}.yaml`),
  );
  const files = names.flatMap((file) => {
    try {
      return [{ file, text: readFileSync(new URL(file, folder), 'utf8') }];
    } catch {
      return [];
    }
  });
  assert.ok(files.length > 10);
  assert.deepEqual(lint(files).findings.map(lineOfFinding), []);
});
