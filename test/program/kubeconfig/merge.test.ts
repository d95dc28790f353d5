import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { type CredentialCommand, toEntry } from '../../../src/program/kubeconfig/entries.ts';
import { MergeProblem, mergeKubeconfig } from '../../../src/program/kubeconfig/merge.ts';

const access = (server: string) => ({
  provider: 'google',
  cluster: { server, insecureSkipTlsVerify: false, disableCompression: false, proxyUrl: 'http://proxy:3128' },
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1' as const,
    command: '/plugin',
    args: [],
    env: [],
    provideClusterInfo: false,
    interactiveMode: 'IfAvailable' as const,
  },
  ignored: [],
});
const command: CredentialCommand = {
  command: 'clusterprofile',
  before: [],
  after: ['--context', 'hub'],
  env: [],
};
const entry = (name: string, server = 'https://h:6443') => toEntry(`${name}@hub`, name, access(server), command);

test('a new kubeconfig has a cluster, a user that execs this program, and a context for each entry', () => {
  const { text, added, updated } = mergeKubeconfig(undefined, [entry('fleet/a')]);
  assert.deepEqual([added, updated], [['fleet/a@hub'], []]);
  assert.deepEqual(parse(text), {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fleet/a@hub', cluster: { server: 'https://h:6443', 'proxy-url': 'http://proxy:3128' } }],
    users: [
      {
        name: 'fleet/a@hub',
        user: {
          exec: {
            apiVersion: 'client.authentication.k8s.io/v1',
            command: 'clusterprofile',
            args: ['credential', 'fleet/a', '--context', 'hub'],
            installHint:
              'npm install -g clusterprofile-credentials, or from a checkout: npm pack && npm install -g ./clusterprofile-credentials-*.tgz',
            interactiveMode: 'IfAvailable',
            provideClusterInfo: true,
          },
        },
      },
    ],
    contexts: [{ name: 'fleet/a@hub', context: { cluster: 'fleet/a@hub', user: 'fleet/a@hub' } }],
    'current-context': 'fleet/a@hub',
  });
});

test('of several clusters none becomes the current one', () => {
  assert.equal(parse(mergeKubeconfig('', [entry('fleet/a'), entry('fleet/b')]).text)['current-context'], undefined);
});

const existing = `# my clusters
apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: lab # the one under the desk
  cluster:
    server: https://lab
    x-mine: 0x10
contexts:
- name: lab
  context: { cluster: lab, user: lab }
users:
- name: lab
  user: { token: "yes", expiry: 2020-01-01T00:00:00Z, id: 123456789012345678901 }
current-context: lab
x-last: [ 1.10, on ]
`;

describe('an existing kubeconfig', () => {
  test('keeps every line of its own, comments, unknown fields and forms of numbers too', () => {
    const { text } = mergeKubeconfig(existing, [entry('fleet/a')]);
    const lines = text.split('\n');
    const kept = existing.split('\n').filter((line) => lines.includes(line));
    // The library writes an object in braces with spaces in them.
    assert.deepEqual(kept, existing.split('\n'));
    assert.equal(parse(text)['current-context'], 'lab');
  });

  test('has its own entries replaced where there is something new, and is not changed where there is not', () => {
    const first = mergeKubeconfig(existing, [entry('fleet/a'), entry('fleet/b')]);
    const same = mergeKubeconfig(first.text, [entry('fleet/b'), entry('fleet/a')]);
    assert.equal(same.text, first.text);
    assert.deepEqual([same.added, same.updated], [[], ['fleet/b@hub', 'fleet/a@hub']]);
    const withNamespace = first.text.replace(
      '    cluster: fleet/a@hub\n',
      '    cluster: fleet/a@hub\n    namespace: mine\n',
    );
    const moved = parse(mergeKubeconfig(withNamespace, [entry('fleet/a', 'https://new')]).text);
    assert.deepEqual(
      moved.clusters.map(({ cluster }: { cluster: { server: string } }) => cluster.server),
      ['https://lab', 'https://new', 'https://h:6443'],
    );
    assert.equal(moved.contexts[1].context.namespace, 'mine');
  });

  test('with an entry of that name that is not ours is refused', () => {
    for (const list of ['clusters', 'users', 'contexts']) {
      const clash = `${list}:\n- name: fleet/a@hub\n`;
      assert.throws(
        () => mergeKubeconfig(clash, [entry('fleet/a')]),
        /^Error: has an entry fleet\/a@hub that is not of clusterprofile/,
      );
    }
    const other = mergeKubeconfig(undefined, [{ ...entry('other/a'), name: 'fleet/a@hub' }]).text;
    assert.throws(() => mergeKubeconfig(other, [entry('fleet/a')]), MergeProblem);
    const foreign = mergeKubeconfig(undefined, [entry('fleet/a')]).text.replace(
      'command: clusterprofile',
      'command: vault',
    );
    assert.throws(() => mergeKubeconfig(foreign, [entry('fleet/a')]), MergeProblem);
  });

  test('keeps tokens as they are written, whatever YAML reads them as', () => {
    for (const scalar of ['0xABCDEF0123456789ABCDEF01', '5034e9012345', '007', '1_000', '.Inf', 'Yes', '12:30:00']) {
      const text = `users:\n- name: lab\n  user:\n    token: ${scalar} # of the lab\n    ${scalar}: key\n`;
      assert.ok(mergeKubeconfig(text, [entry('fleet/a')]).text.includes(text), scalar);
    }
  });

  test('with a value of no text in braces has null there', () => {
    assert.match(mergeKubeconfig('x: {a: , b: 0xAB}\n', [entry('fleet/a')]).text, /^x: \{ a: null, b: 0xAB \}$/m);
  });

  test('with an alias is refused', () => {
    for (const text of ['x: &u []\nusers: *u\n', 'x: &b { name: lab }\nusers:\n- <<: *b\n', 'users: [ *nothing ]\n'])
      assert.throws(() => mergeKubeconfig(text, [entry('fleet/a')]), MergeProblem, text);
  });

  test('is refused where the entry of that name reads another file or hub', () => {
    const from = (after: readonly string[], env: CredentialCommand['env'] = []) =>
      toEntry('fleet/a', 'fleet/a', access('https://h'), { ...command, after, env });
    const flag = '--clusterprofile-access-provider=google=/plugin';
    const { text } = mergeKubeconfig(undefined, [from(['--filename', '/a.yaml'])]);
    for (const other of [
      from(['--filename', '/prod.yaml']),
      from(['--filename', '/a.yaml', '--filename', '/b.yaml']),
      from(['--kubeconfig', '/hub', '--context', 'hub']),
      from(['--filename', '/a.yaml'], [{ name: 'KUBECONFIG', value: '' }]),
    ])
      assert.throws(
        () => mergeKubeconfig(text, [other]),
        /has an entry fleet\/a of another source \(--filename \/a\.yaml, and now .*\): merge into another file, or remove it first/,
      );
    assert.deepEqual(mergeKubeconfig(text, [from(['--filename', '/a.yaml', flag])]).updated, ['fleet/a']);
  });

  for (const [what, text] of [
    ['lists that are null', 'apiVersion: v1\nclusters: null\nusers:\ncontexts: ~\n'],
    ['empty lists', 'clusters: []\nusers: []\ncontexts: []\n'],
    ['no lists', '# nothing yet\n'],
    ['lists that are moved in', 'clusters:\n  - name: x\n    cluster: {}\n'],
    ['JSON', JSON.stringify({ apiVersion: 'v1', clusters: [{ name: 'x', cluster: {} }], users: [] }, null, 4)],
  ] as const) {
    test(`may have ${what}`, () => {
      const merged = mergeKubeconfig(text, [entry('fleet/a')]).text;
      const read = what === 'JSON' ? JSON.parse(merged) : parse(merged);
      for (const list of ['clusters', 'users', 'contexts']) assert.equal(read[list].at(-1).name, 'fleet/a@hub', merged);
      if (what.includes('moved in')) assert.match(merged, /^ {2}- name: x$/m);
      if (what === 'empty lists') assert.match(merged, /^clusters:\n- cluster:\n {4}server/m);
    });
  }

  for (const [what, text, said] of [
    ['broken YAML', 'clusters: [\nusers: "SECRET\n', /line \d+ is neither JSON nor YAML/],
    ['a list that is an object', 'clusters: {}\n', /clusters has to be a list/],
    ['something else', '- a\n', /is not a kubeconfig/],
    ['a key that stands twice', 'clusters: []\nclusters: []\n', /line 2 is neither JSON nor YAML \(duplicate key\)/],
  ] as const) {
    test(`with ${what} is refused, and nothing of it is quoted`, () => {
      assert.throws(
        () => mergeKubeconfig(text, [entry('fleet/a')]),
        (error) => error instanceof MergeProblem && said.test(error.message) && !error.message.includes('SECRET'),
      );
    });
  }
});
