import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkLabels, readPins } from '../../src/plugins/profile-input.ts';

describe('what a profile may name', () => {
  test('has to have every label', () => {
    const pins = readPins({ label: ['fleet=yes', 'team=a=b'] });
    checkLabels(pins, 'secret a/b', { labels: { fleet: 'yes', team: 'a=b', other: 'x' } });
    for (const metadata of [
      undefined,
      {},
      { labels: {} },
      { labels: { fleet: 'yes' } },
      { labels: { fleet: 'no', team: 'a=b' } },
    ]) {
      assert.throws(
        () => checkLabels(pins, 'secret a/b', metadata),
        /secret a\/b does not have the label .*: this plugin may read no other/,
      );
    }
    assert.throws(() => checkLabels(readPins({ label: ['constructor='] }), 'x', { labels: {} }), /label constructor=/);
  });

  const refused: [Parameters<typeof readPins>[0], RegExp][] = [
    [{ namespace: '' }, /--namespace is empty/],
    [{ name: [''] }, /--name is empty/],
    [{ label: ['fleet'] }, /--label fleet must be KEY=VALUE/],
    [{ label: ['=yes'] }, /must be KEY=VALUE/],
  ];
  for (const [values, message] of refused) {
    test(`is not said by ${JSON.stringify(values)}`, () => assert.throws(() => readPins(values), message));
  }
});
