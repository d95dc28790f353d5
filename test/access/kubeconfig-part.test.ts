import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { readContext } from '../../src/access/kubeconfig.ts';
import { type KubeconfigText, mergeKubeconfigs, partOf } from '../../src/access/kubeconfig-files.ts';

const count = 130;
const names = [...Array(count).keys()].map((index) => `fleet/spoke-${index}@hub`);
const kubeconfig = (of: readonly string[], current: string | undefined = of[0]) => ({
  apiVersion: 'v1',
  kind: 'Config',
  preferences: { colors: true },
  ...(current === undefined ? {} : { 'current-context': current }),
  clusters: of.map((name) => ({ cluster: { server: `https://${name.length}.example.com/${name}` }, name })),
  contexts: of.map((name) => ({ context: { cluster: name, user: name, namespace: 'team' }, name })),
  users: of.map((name) => ({
    name,
    user: {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: '/bin/plugin',
        args: ['credential', name, '--text', 'one\ntwo\nname: three\n- four'],
        env: [{ name: 'A', value: name }],
        interactiveMode: 'Never',
      },
    },
  })),
});
const asFile = (text: string, path = '/home/me/config'): KubeconfigText => ({ text, path, directory: '/home/me' });
const read = (texts: readonly KubeconfigText[], context?: string) => {
  const access = readContext(mergeKubeconfigs(texts), context, () => Buffer.of());
  // An index counts the entries of the file.
  return JSON.parse(JSON.stringify(access).replaceAll(/\[\d+\]/g, '[]'));
};

describe('the part of a large kubeconfig', () => {
  for (const [form, options] of Object.entries({
    'as kubectl writes it': { indentSeq: false, lineWidth: 0 },
    'with lists that are moved in': { indentSeq: true, lineWidth: 0 },
    'with folded lines': { indentSeq: false, lineWidth: 60 },
  })) {
    test(`${form} gives the access that the whole gives, of the current context and of any other`, () => {
      const texts = [asFile(`# mine\n${stringify(kubeconfig(names), options)}`)];
      for (const context of [undefined, names.at(-1)]) {
        const part = partOf(texts, context);
        assert.ok(part, 'it is found');
        assert.ok((part[0]?.text.length ?? 0) < 2_000, part[0]?.text);
        assert.deepEqual(read(part, context), read(texts, context));
      }
    });
  }

  test('of several files has the first of each name, and the current context of the first that has one', () => {
    const own = { ...kubeconfig([]), 'current-context': names[3] };
    const other = kubeconfig(names.slice(0, 5), names[4]);
    const [first] = other.clusters;
    assert.ok(first);
    const [all, before, context] = [
      asFile(stringify(kubeconfig(names)), '/home/me/all'),
      asFile(stringify({ ...other, users: [], contexts: [] }), '/home/me/before'),
      asFile(stringify(own), '/home/me/context'),
    ];
    for (const texts of [
      [context, all],
      [before, context, all],
      [all, before],
    ]) {
      const part = partOf(texts, undefined);
      assert.ok(part);
      assert.deepEqual(read(part), read(texts));
    }
  });

  test('is not read from what only a parser understands, or what has an error: then the whole says it', () => {
    const text = stringify(kubeconfig(names), { indentSeq: false, lineWidth: 0 });
    const [, second = ''] = names;
    for (const [why, other] of Object.entries({
      JSON: JSON.stringify(kubeconfig(names)),
      'a small file': stringify(kubeconfig(names.slice(0, 3))),
      'a second document': `${text}---\n{}\n`,
      'a key twice': `${text}current-context: ${second}\n`,
      'a name twice': text.replaceAll(second, names[0] ?? ''),
      'an item with two names': text.replace(/^ {2}name: .*$/m, '$&\n  name: other'),
      'a field further out than its item': stringify(kubeconfig(names)).replace(/^ {2}- name: .*$/m, '$&\n  oops: 1'),
      'a field before the first item': text.replace('contexts:', 'contexts:\n  oops: 1'),
      'an anchor': text.replace('clusters:', 'clusters: &all'),
      'carriage returns': text.replaceAll('\n', '\r\n'),
      'a name in another form': text.replaceAll(/name: fleet\/spoke-(\d+)@hub$/gm, 'name: !!str fleet/spoke-$1@hub'),
      'a list millions of columns in': `contexts:\n${' '.repeat(3_000_000)}- name: x\n`,
      'a number as a name': text.replaceAll(/fleet\/spoke-(\d+)@hub/g, '$1'),
      'a context that is not there': text.replace(/^current-context: .*$/m, 'current-context: none'),
      'a cluster that is not there': text.replaceAll('cluster: fleet/', 'cluster: other/'),
    })) {
      assert.equal(partOf([asFile(other)], undefined), undefined, why);
    }
  });
});
