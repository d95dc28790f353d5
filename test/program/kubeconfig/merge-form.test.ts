import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { MergeProblem, mergeKubeconfig } from '../../../src/program/kubeconfig/merge.ts';
import { command, entry } from '../../fixtures/kubeconfig-entry.ts';
import { linesIn } from '../../fixtures/lines-in.ts';
import { fc } from '../../fixtures/property.ts';

describe('an existing kubeconfig of any form', () => {
  test('keeps the lines of others byte for byte, in whatever form they are', () => {
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
      isEnded: fc.boolean(),
    });
    fc.assert(
      fc.property(file, ({ top, lists, count, end, lineBreak, byteOrderMark, isEnded }) => {
        const lines = [...top, ...lists.slice(-count).flat(), ...end];
        const before = `${byteOrderMark}${lines.join(lineBreak)}${isEnded ? lineBreak : ''}`;
        const { text, isRewritten } = mergeKubeconfig(before, [entry('fleet/a'), entry('fleet/b')]);
        const kept = before.split('\n').filter((line) => line !== '');
        assert.equal(isRewritten, false, before);
        // The last line may have had no line break.
        assert.deepEqual(linesIn(text, kept.slice(0, -1)), kept.slice(0, -1), before);
        assert.equal(text.includes('\r') && /[^\r]\n/.test(text), false, before);
        for (const [field, old] of Object.entries(parse(before) ?? {})) {
          const now = parse(text)[field];
          assert.deepEqual(Array.isArray(old) && field !== 'x' ? now.slice(0, -2) : now, old, text);
        }
        for (const field of ['clusters', 'users', 'contexts']) {
          assert.deepEqual(
            parse(text)
              [field].slice(-2)
              .map(({ name }: { name: string }) => name),
            ['fleet/a@hub', 'fleet/b@hub'],
            text,
          );
        }
        const isGone = () => true;
        const without = mergeKubeconfig(text, [], { prune: { command, isGone } });
        assert.deepEqual(without.removed, ['fleet/a@hub', 'fleet/b@hub']);
        assert.deepEqual(linesIn(without.text, kept.slice(0, -1)), kept.slice(0, -1), before);
        const moved = mergeKubeconfig(text, [entry('fleet/a', 'https://new'), entry('fleet/b')]).text;
        assert.equal(moved, text.replace('https://h:6443', 'https://new'));
      }),
    );
  });

  test('keeps the comments beside empty values', () => {
    const text = 'clusters: [] # a\nusers: # b\ncontexts: ~ # c\ncurrent-context: # d\n';
    const merged = mergeKubeconfig(text, [entry('fleet/a')]).text;
    assert.deepEqual(
      merged.split('\n').filter((line) => line.includes('#')),
      ['clusters: # a', 'users: # b', 'contexts: # c', 'current-context: fleet/a@hub # d'],
    );
    assert.equal(parse(merged).users[0].name, 'fleet/a@hub');
  });

  test('whose lists are in brackets is written anew, and that is said', () => {
    for (const text of ['{"users":[]}', 'users: [ { name: lab } ]\n', 'x: 1\n...\n']) {
      assert.equal(mergeKubeconfig(text, [entry('fleet/a')]).isRewritten, true, text);
    }
    for (const text of [undefined, '# nothing yet\n'])
      assert.equal(mergeKubeconfig(text, [entry('fleet/a')]).isRewritten, false);
  });

  test('keeps tokens as they are written, whatever YAML reads them as', () => {
    for (const scalar of ['0xABCDEF0123456789ABCDEF01', '5034e9012345', '007', '1_000', '.Inf', 'Yes', '12:30:00']) {
      const text = `users:\n- name: lab\n  user:\n    token: ${scalar} # of the lab\n    ${scalar}: key\n`;
      assert.ok(mergeKubeconfig(text, [entry('fleet/a')]).text.includes(text), scalar);
    }
  });

  test('that is written anew has null for a value of no text in braces', () => {
    assert.match(mergeKubeconfig('{x: {a: , b: 0xAB}}\n', [entry('fleet/a')]).text, /\{ a: null, b: 0xAB \}/);
  });

  test('with an alias is refused', () => {
    for (const text of ['x: &u []\nusers: *u\n', 'x: &b { name: lab }\nusers:\n- <<: *b\n', 'users: [ *nothing ]\n'])
      assert.throws(() => mergeKubeconfig(text, [entry('fleet/a')]), MergeProblem, text);
  });
});
