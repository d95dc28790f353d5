import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ItemSplitter } from '../../../src/fleet/reflect/item-splitter.ts';
import { Lines } from '../../../src/fleet/reflect/lines.ts';
import { MalformedResponse } from '../../../src/fleet/reflect/malformed.ts';
import { anyText } from '../../fixtures/any-text.ts';

/** What a splitter makes of a text that comes in pieces of some size. */
function split(
  text: string | Buffer,
  size: number,
): { readonly items: readonly unknown[]; readonly envelope: unknown } {
  const splitter = new ItemSplitter();
  const bytes = Buffer.from(text);
  const items: unknown[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const ended = splitter.push(bytes.subarray(at, at + size));
    if (ended !== undefined) items.push(...JSON.parse(ended));
  }
  return { items, envelope: JSON.parse(splitter.end()) };
}

describe('the items of a list', () => {
  test('are those of JSON.parse, however the bytes are cut and whatever the objects hold', () => {
    const object = fc.dictionary(anyText(), fc.jsonValue());
    const envelope = fc.record({ before: fc.jsonValue(), after: fc.jsonValue() });
    fc.assert(
      fc.property(
        fc.array(object, { maxLength: 8 }),
        envelope,
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        (items, { before, after }, size, pretty) => {
          const list = { kind: 'List', before, metadata: { resourceVersion: '7' }, items, after };
          const text = JSON.stringify(list, null, pretty ? 2 : 0);
          const got = split(text, size);
          assert.deepEqual(got.items, JSON.parse(text).items);
          assert.deepEqual(got.envelope, JSON.parse(JSON.stringify({ ...list, items: [] })));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('are found when a text in front of them looks like them', () => {
    const list = {
      note: '"items":[{"a":1}]',
      nested: { items: [{ b: 2 }] },
      items: [{ c: '}],"items":[' }, { d: '\\"' }],
    };
    for (let size = 1; size < 30; size++) assert.deepEqual(split(JSON.stringify(list), size).items, list.items);
  });

  test('may be null, or none', () => {
    assert.deepEqual(split('{"items":null,"metadata":{}}', 5).items, []);
    assert.deepEqual(split('{"items":[ ],"metadata":{}}', 5).items, []);
    assert.deepEqual(split('{"metadata":{}}', 5), { items: [], envelope: { metadata: {} } });
  });

  test('survive texts that are longer than a chunk, with escapes at every place', () => {
    const items = [{ text: `${'x'.repeat(60)}\\"${'\\'.repeat(9)}"é✓`.repeat(20) }, { n: 1 }];
    for (let size = 1; size < 140; size += 7) assert.deepEqual(split(JSON.stringify({ items }), size).items, items);
  });

  for (const [what, text] of [
    ['that breaks off', '{"items":[{"a":1},{"b"'],
    ['that breaks off after an item', '{"items":[{"a":1}'],
    ['that breaks off within a text', '{"items":[{"a":"x'],
    ['with something else among its items', '{"items":[{"a":1},null]}'],
    ['that is empty', ''],
  ] as const) {
    test(`of a list ${what} are refused`, () => {
      assert.throws(() => split(text, 4), MalformedResponse);
    });
  }
});

describe('the lines of a watch', () => {
  test('are whole, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.json()), fc.integer({ min: 1, max: 30 }), fc.nat(4), (events, size, atOnce) => {
        const bytes = Buffer.from(events.map((event) => `${event}\n`).join(''));
        const lines = new Lines();
        const got: string[] = [];
        let pieces: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) {
          pieces.push(bytes.subarray(at, at + size));
          if (pieces.length <= atOnce) continue;
          got.push(...lines.push(pieces));
          pieces = [];
        }
        got.push(...lines.push(pieces));
        assert.deepEqual(got, events);
      }),
    );
  });
});
