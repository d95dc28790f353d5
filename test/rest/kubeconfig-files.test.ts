// The files of KUBECONFIG, as clientcmd merges them; the e2e run compares 20,000 generated sets.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigurationError, RestConfig } from '../../src/index.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { thrownBy } from '../fixtures/thrown.ts';

describe('several kubeconfigs', () => {
  const text = (content: object) => JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...content });

  test('are merged as kubectl merges them: the first entry of a name counts, whole, and the first current-context', async (t) => {
    const folder = await temporaryFolder(t);
    const [one = '', two = '', three = ''] = ['one', 'two', 'three'].map((name) => join(folder, name, 'config'));
    for (const name of ['one', 'two']) await mkdir(join(folder, name));
    const first = {
      users: [{ name: 'bob', user: { tokenFile: 'token' } }],
      clusters: [{ name: 'k', cluster: { server: 'https://first' } }],
    };
    const second = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'bob', namespace: 'n' } }],
      clusters: [{ name: 'k', cluster: { server: 'https://second', 'tls-server-name': 'second' } }],
      users: [
        { name: 'bob', user: { as: 'jane' } },
        { name: 'carl', user: { tokenFile: 'token' } },
      ],
    };
    await writeFile(one, text(first));
    await writeFile(two, text(second));
    const config = RestConfig.fromKubeConfig({ paths: [one, three, '', two, one] });
    t.after(() => config.close());
    assert.equal(config.currentContext, 'c');
    const cluster = { server: 'https://first', insecureSkipTlsVerify: false, disableCompression: false };
    assert.deepEqual(config.access.cluster, cluster);
    const { users, contexts } = JSON.parse(config.exportConfig());
    assert.deepEqual([users[0].user, contexts[0].context.namespace], [{ tokenFile: join(folder, 'one/token') }, 'n']);
    const message = new RegExp(`kubeconfig ${one}, user bob: tokenFile: ${folder}/one/token cannot be read`);
    await assert.rejects(config.ready(), message);
  });

  test('tell every fault with its file and line, those of entries that are not used included where they hide a name', async (t) => {
    const folder = await temporaryFolder(t);
    const [one = '', two = ''] = ['one', 'two'].map((name) => join(folder, name));
    await writeFile(
      one,
      'current-context: c\nclusters:\n- {name: k}\n- {name: k}\ncontexts: [{name: c, context: {cluster: k, user: bob}}]',
    );
    await writeFile(two, 'users:\n- name: bob\n  user: {token: 7}\nclusters: [{name: k}, {name: k}]');
    const thrown = () => thrownBy(ConfigurationError, () => RestConfig.fromKubeConfig({ paths: [one, two] })).message;
    const [first, ...lines] = thrown().split('\n  ');
    assert.equal(first, `kubeconfig ${one}, ${two}: 4 problems:`);
    assert.deepEqual(lines.sort(), [
      `${one}: line 3: clusters[0].cluster.server: is missing: it must be an https:// URL`,
      `${one}: line 4: clusters[1].name: "k" duplicates clusters[0].cluster`,
      `${two}: line 3: users[0].user.token: must be text (quote numbers and booleans)`,
      `${two}: line 4: clusters[1].name: "k" duplicates clusters[0].cluster`,
    ]);
    await writeFile(one, '{');
    await writeFile(two, 'kind: Pod');
    assert.match(thrown(), /one: line 1: is neither JSON nor YAML.*\n.*two: line 1: kind: must be Config/);
  });

  test('of which none exists are said to be missing, and one that cannot be read is an error', async (t) => {
    const folder = await temporaryFolder(t);
    const none = { paths: [join(folder, 'a'), join(folder, 'b')] };
    const missing = { code: 'KUBECONFIG_INVALID', message: /a, .*b: none of these exists/ };
    assert.throws(() => RestConfig.fromKubeConfig(none), missing);
    assert.throws(() => RestConfig.fromKubeConfig({ paths: [folder] }), /cannot be read \(EISDIR\)/);
    assert.throws(() => RestConfig.fromKubeConfig({ paths: [] }), /no file is named/);
  });
});
