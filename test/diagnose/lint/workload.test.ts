import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deployment, linesFor, provider } from '../../fixtures/linted.ts';

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
    assert.match(hardened, /error: container controller: pluginPolicy: is AllowAll, and hardened requires Allowlist/);
    assert.match(hardened, /0\.yaml:10:11: error: provider google: has no allowedServers, which hardened requires/);
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
      volumes:
      - { name: p, configMap: { name: providers } }
`;
    const map = (key: string) =>
      `kind: ConfigMap\nmetadata: { name: providers, namespace: fleet }\ndata:\n  ${key}: |\n${provider().replace(/^(?=.)/gm, '    ')}`;
    const lines = linesFor(`${deployment(args, mounts)}---\n${map('providers.yaml')}`);
    assert.deepEqual(lines, [
      '0.yaml:27:18: warning: providers[0].execConfig.command: /plugins/google is not in --clusterprofile-plugin-allowlist of container controller, so it is never run (PLUGIN_NOT_IN_ALLOWLIST)',
    ]);
    assert.match(
      linesFor(deployment(args, mounts), map('other.yaml')).join('\n'),
      /^0\.yaml:10:11: error: .*no such key \(PROVIDER_FILE_KEY_MISSING\)$/m,
    );
    for (const [right, wrong, said] of [
      ['execConfig:', 'exec:', /^1\.yaml:6:7: error: providers\[0\]\.execConfig: /],
      ['providers:\n', 'accessProviders:\n', /^1\.yaml:5:5: error: providers: must be a list/],
      ['providers:\n', 'providers: [\n', /^1\.yaml:.*error: is neither JSON nor YAML/],
    ] as const) {
      const mistaken = map('providers.yaml').replace(`    ${right}`, `    ${wrong}`);
      const told = linesFor(deployment(args, mounts), mistaken, deployment(args, mounts));
      const ofMap = told.filter((line) => line.startsWith('1.yaml'));
      assert.match(ofMap[0] ?? '', said);
      assert.equal(new Set(ofMap).size, ofMap.length);
      assert.deepEqual(linesFor(mistaken), []);
    }
    const binary =
      'kind: ConfigMap\nmetadata: { name: providers, namespace: fleet }\nbinaryData: { providers.yaml: eA== }\n';
    assert.doesNotMatch(linesFor(deployment(args, mounts), binary).join('\n'), /KEY_MISSING/);
    // Of a file of this name kustomize needs no kind.
    const generator = 'configMapGenerator: [{ name: providers, files: [providers.yaml] }]\n';
    const files = [
      { file: 'd/deployment.yaml', text: deployment(args, mounts) },
      { file: 'd/kustomization.yaml', text: generator },
      { file: 'd/providers.yaml', text: provider() },
    ];
    assert.match(linesFor(...files).join('\n'), /^d\/providers\.yaml:5:14: warning: .*PLUGIN_NOT_IN_ALLOWLIST/m);
  });

  test('shares a provider file with others: it is read once, not for each of them', () => {
    const text = Array.from({ length: 300 }, (_, index) => provider().replace('google', `google-${index}`)).join('');
    const file = `providers:\n${text.replaceAll('providers:\n', '')}`.replace(/^(?=.)/gm, '    ');
    const map = `kind: ConfigMap\nmetadata: { name: providers, namespace: fleet }\ndata:\n  providers.yaml: |\n${file}`;
    const mounts = `        volumeMounts:
        - { name: p, mountPath: /etc/p }
      volumes:
      - { name: p, configMap: { name: providers } }
`;
    const controller = deployment(['--clusterprofile-provider-file=/etc/p/providers.yaml'], mounts);
    const cpuOf = (count: number) => {
      const before = process.cpuUsage();
      linesFor(map, ...Array.from({ length: count }, () => controller));
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    cpuOf(1);
    const [one, many] = [cpuOf(1), cpuOf(40)];
    assert.ok(many < 8 * one, `${many} µs for 40 controllers, ${one} µs for one`);
  });

  test('without a flag of ours is passed over, as other kinds are', () => {
    assert.deepEqual(linesFor(deployment(['--port=1']), 'kind: Secret\n'), []);
  });
});
