import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { MergeProblem, mergeKubeconfig } from '../../../src/program/kubeconfig/merge.ts';
import { command, entry } from '../../fixtures/kubeconfig-entry.ts';
import { fc } from '../../fixtures/property.ts';

const namesIn = (text: string, field: string): readonly string[] =>
  parse(text)[field].map(({ name }: { name: string }) => name);

describe('an existing kubeconfig of any form', () => {
  test('keeps the values and comments of others, whatever its layout is', () => {
    const lab = fc.constantFrom(
      ['- name: lab'],
      ['-   { name: lab,   cluster: {server:  https://lab} }   # aligned'],
      ['-', '  # the one', '  name: "lab"', '  x: |', '    - name: fleet/a@hub', ''],
      ['- # under the desk', '  name: lab', '  # inside', '# outside'],
      ['- &x !!map', "  'name': lab"],
    );
    const list = (field: string) =>
      fc
        .tuple(fc.constantFrom('', '  '), fc.array(lab, { minLength: 1, maxLength: 3 }))
        .map(([indent, items]) => [
          `${field}:   # ${field}`,
          ...items.flat().map((line) => (line === '' || line.startsWith('#') ? line : `${indent}${line}`)),
        ]);
    const other = fc.constantFrom([], ['# top'], ['preferences:   {}', ''], ['x:  [ 1.10,on ]'], ['---']);
    const file = fc.record({
      top: other,
      lists: fc.tuple(list('clusters'), list('users'), list('contexts'), fc.constant(['kind:   Config'])),
      count: fc.integer({ min: 1, max: 4 }),
      end: fc.constantFrom([], ['# end'], ['', '  # end', '']),
      lineBreak: fc.constantFrom('\n', '\r\n'),
      byteOrderMark: fc.constantFrom('', '\ufeff'),
    });
    fc.assert(
      fc.property(file, ({ top, lists, count, end, lineBreak, byteOrderMark }) => {
        const lines = [...top, ...lists.slice(-count).flat(), ...end];
        const before = `${byteOrderMark}${lines.join(lineBreak)}`;
        const entries = [entry('fleet/a'), entry('fleet/b')];
        const { text } = mergeKubeconfig(before, entries);
        const comments = (one: string) =>
          one
            .match(/#.*/gm)
            ?.map((comment) => comment.trim())
            .sort();
        assert.deepEqual(comments(text), comments(before), text);
        for (const [field, old] of Object.entries(parse(before) ?? {})) {
          const now = parse(text)[field];
          assert.deepEqual(Array.isArray(old) && field !== 'x' ? now.slice(0, -2) : now, old, text);
        }
        for (const field of ['clusters', 'users', 'contexts'])
          assert.deepEqual(namesIn(text, field).slice(-2), ['fleet/a@hub', 'fleet/b@hub'], text);
        assert.equal(mergeKubeconfig(text, entries).text, text);
        const without = mergeKubeconfig(text, [], { prune: { command, isGone: () => true } });
        assert.deepEqual(without.removed, ['fleet/a@hub', 'fleet/b@hub']);
        assert.equal(without.text.includes('https://h:6443'), false, without.text);
        const moved = mergeKubeconfig(text, [entry('fleet/a', 'https://new'), entry('fleet/b')]).text;
        assert.deepEqual(parse(moved), parse(text.replace('https://h:6443', 'https://new')));
        assert.deepEqual(comments(moved), comments(before), moved);
      }),
      { numRuns: 40 },
    );
  });

  test('keeps the comments beside empty values, and of a file that has nothing else', () => {
    for (const text of [
      'clusters: [] # a\nusers: # b\ncontexts: ~ # c\ncurrent-context: lab # d\n',
      '# nothing yet\n',
    ]) {
      const merged = mergeKubeconfig(text, [entry('fleet/a')], { use: 'fleet/a@hub' }).text;
      for (const comment of text.match(/#.*/g) ?? []) assert.ok(merged.includes(comment), merged);
      for (const field of ['clusters', 'users', 'contexts']) assert.deepEqual(namesIn(merged, field), ['fleet/a@hub']);
    }
  });

  test('that is JSON stays JSON', () => {
    const { text } = mergeKubeconfig('{"apiVersion":"v1","contexts":[]}', [entry('fleet/a')]);
    assert.equal(JSON.parse(text).contexts.length, 1);
  });

  test('keeps tokens as they are written, whatever YAML reads them as', () => {
    for (const scalar of ['0xABCDEF0123456789ABCDEF01', '5034e9012345', '007', '1_000', '.Inf', 'Yes', '12:30:00']) {
      const text = `users:\n- name: lab\n  user:\n    token: ${scalar} # of the lab\n    ${scalar}: key\n`;
      assert.ok(mergeKubeconfig(text, [entry('fleet/a')]).text.includes(text), scalar);
    }
  });

  test('with an alias is refused', () => {
    for (const text of ['x: &u []\nusers: *u\n', 'x: &b { name: lab }\nusers:\n- <<: *b\n', 'users: [ *nothing ]\n'])
      assert.throws(() => mergeKubeconfig(text, [entry('fleet/a')]), MergeProblem, text);
  });
});
