import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { type CredentialCommand, toEntry } from '../../../src/program/kubeconfig/entries.ts';
import { MergeProblem, mergeKubeconfig } from '../../../src/program/kubeconfig/merge.ts';
import { growth } from '../../fixtures/cpu-time.ts';
import { accessTo, command, entry } from '../../fixtures/kubeconfig-entry.ts';

test('five times as many clusters take no more than five times the time, in a new file and in one that has them', () => {
  const ratio = growth(
    (length) => {
      const entries = Array.from({ length }, (_, index) => entry(`fleet/spoke-${index}`));
      const moved = entries.map(({ profile }) => entry(profile, 'https://new'));
      const { text } = mergeKubeconfig(undefined, entries);
      return () => {
        mergeKubeconfig(undefined, entries);
        mergeKubeconfig(text, moved);
      };
    },
    { length: 50, factor: 5, most: 2 },
  );
  assert.ok(ratio < 2, `${ratio}`);
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
  test('has its own entries replaced where there is something new, and is not changed where there is not', () => {
    const first = mergeKubeconfig(existing, [entry('fleet/a'), entry('fleet/b')]);
    const same = mergeKubeconfig(first.text, [entry('fleet/b'), entry('fleet/a')]);
    assert.equal(same.text, first.text);
    assert.deepEqual([same.added, same.updated], [[], []]);
    const withNamespace = first.text.replace(
      '    cluster: fleet/a@hub\n',
      '    cluster: fleet/a@hub\n    namespace: mine\n',
    );
    const merged = mergeKubeconfig(withNamespace, [entry('fleet/a', 'https://new')]);
    assert.deepEqual(merged.updated, ['fleet/a@hub']);
    const moved = parse(merged.text);
    const [, ...clusters] = moved.clusters.map(({ cluster }: { cluster: object }) => cluster);
    assert.deepEqual(clusters, [
      { server: 'https://new', 'proxy-url': 'http://proxy:3128' },
      { server: 'https://h:6443', 'proxy-url': 'http://proxy:3128' },
    ]);
    assert.equal(moved.contexts[1].context.namespace, 'mine');
  });

  test('has the same entries after kubectl has written null for what is not set', () => {
    const { text } = mergeKubeconfig(undefined, [entry('fleet/spoke-1')]);
    const before = text.replace('interactiveMode: IfAvailable', 'env: null\n      interactiveMode: IfAvailable');
    assert.notEqual(before, text);
    assert.deepEqual(mergeKubeconfig(before, [entry('fleet/spoke-1')]).updated, []);
  });

  test('loses only what this program wrote for profiles that are gone', () => {
    const others = mergeKubeconfig(existing, [
      toEntry('fleet/c@other', 'fleet/c', accessTo('https://h'), { ...command, after: ['--context', 'other'] }),
      entry('fleet/kept'),
    ]).text;
    const text = mergeKubeconfig(others, [entry('fleet/a')]).text;
    const prune = { command, isGone: (profile: string) => profile !== 'fleet/kept' };
    const pruned = mergeKubeconfig(text, [entry('fleet/kept')], { prune });
    assert.deepEqual(pruned.removed, ['fleet/a@hub']);
    const { clusters, contexts, users } = parse(pruned.text);
    const names = [clusters, users, contexts].map((list: { name: string }[]) => list.map(({ name }) => name));
    assert.deepEqual(names, Array(3).fill(['lab', 'fleet/c@other', 'fleet/kept@hub']));
    // As kubectl config delete-context leaves it.
    const left = mergeKubeconfig(existing, [entry('fleet/a')]).text.replace(
      /^- context:\n {4}cluster: fleet\/a@hub\n.*\n {2}name: fleet\/a@hub\n/m,
      '',
    );
    const taken = mergeKubeconfig(left, [], { prune: { command, isGone: () => true } });
    assert.deepEqual([taken.text, taken.removed], [existing, ['fleet/a@hub']]);
  });

  test('with an entry for another profile by that name is refused, and both are named', () => {
    const { text } = mergeKubeconfig(undefined, [toEntry('spoke', 'a/spoke', accessTo('https://h'), command)]);
    assert.throws(
      () => mergeKubeconfig(text, [toEntry('spoke', 'b/spoke', accessTo('https://h'), command)]),
      /has an entry spoke of ClusterProfile a\/spoke, and it would be that of b\/spoke too: choose another --context-name/,
    );
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
    const foreign = mergeKubeconfig(undefined, [entry('fleet/a')]).text.replace(/^ *installHint:.*\n/m, '');
    assert.throws(
      () => mergeKubeconfig(foreign, [entry('fleet/a')]),
      /remove it first \(kubectl config delete-context, delete-cluster and delete-user\)$/,
    );
  });

  test('is refused where the entry of that name reads another file or hub', () => {
    const from = (after: readonly string[], env: CredentialCommand['env'] = []) =>
      toEntry('fleet/a', 'fleet/a', accessTo('https://h'), { ...command, after, env });
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

  for (const [what, text, said] of [
    ['broken YAML', 'clusters: [\nusers: "SECRET\n', /line \d+ is neither JSON nor YAML/],
    ['a list that is an object', 'clusters: {}\n', /clusters must be a list/],
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
