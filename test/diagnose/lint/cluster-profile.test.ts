import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { linesFor, profile, provider } from '../../fixtures/linted.ts';

describe('a ClusterProfile', () => {
  test('has the first problem of each access provider reported', () => {
    const text = `kind: ClusterProfile
metadata: { namespace: fleet, name: spoke-1 }
status:
  accessProviders:
  - name: google
    cluster:
      server: ftp://h
  - name: other
    cluster: { server: 7 }
`;
    const places = linesFor(text).map((line) => line.replace(/: (?:has|is|must|holds|can|may).*\(/, ' ('));
    assert.deepEqual(places, [
      '0.yaml:7:15: error: status.accessProviders[0].cluster.server (SERVER_INVALID)',
      '0.yaml:9:24: error: status.accessProviders[1].cluster.server (CLUSTER_INVALID)',
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
      /^1\.yaml:6:3: warning: .*did you mean "google".*\(NO_PROVIDER\)$/,
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
    ['no status', '', /1:1: note: status: is missing.*\(NO_PROVIDER\)/],
    [
      'a name that Kubernetes refuses',
      'metadata: { name: Spoke_1 }\n',
      /:2:19: error: metadata\.name: must be a DNS-1123 .*\(NAME_INVALID\)/,
    ],
    [
      'a namespace that Kubernetes refuses',
      'metadata: { namespace: a.b }\n',
      /error: metadata\.namespace: .*\(NAME_INVALID\)/,
    ],
    ['a status that is a list', 'status: []\n', /error: status: must be an object \(PROFILE_INVALID\)/],
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
    const name = 'clusterprofiles.multicluster.x-k8s.io/exec/additional-envs';
    for (const env of ['\u{e0001}=', '\u001b[31m=', 'a]"=', '"', '__proto__=', 'a.b["c"]=', '\\u{ffffffff}=']) {
      const cluster = { server: 'https://h', extensions: [{ name, extension: { [env]: null } }] };
      const lines = linesFor(profile(JSON.stringify(cluster))).join();
      assert.match(lines, /EXTENSION_INVALID/);
      assert.doesNotMatch(lines, /\p{Cc}|\p{Cf}/u);
    }
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
    assert.match(linesFor(JSON.stringify(json)).join('\n'), /^0\.yaml:1:\d+: error: .*CLUSTER_INVALID/);
  });
});
