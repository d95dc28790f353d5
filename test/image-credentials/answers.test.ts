// What a plugin may answer, and what it costs to read: test/image-credentials/providers.test.ts has the faults.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseDuration } from '../../src/access/duration.ts';
import { AnswerFault } from '../../src/exec/exec-credential.ts';
import { Keyring } from '../../src/image-credentials/keyring.ts';
import { decodeResponse } from '../../src/image-credentials/protocol.ts';
import { cpuTime, growth } from '../fixtures/cpu-time.ts';
import { v1 } from '../fixtures/image-plugins.ts';

const answer = (more: object) =>
  JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion: v1, cacheKeyType: 'Image', ...more });
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`r${index}.example.dev`, {}]));

describe('a large answer', () => {
  test('is read in a time that grows with its length', () => {
    const limits = { length: 500, factor: 10, most: 4 };
    const ratio = growth((count) => {
      const text = answer({ auth: many(count) });
      return () => new Keyring('p', decodeResponse(text, v1).auth);
    }, limits);
    assert.ok(ratio < limits.most, `${ratio.toFixed(1)} times what is linear`);
  });

  for (const [what, text] of [
    ['entries that are wrong', answer({ auth: Object.fromEntries(Object.keys(many(10_000)).map((key) => [key, 1])) })],
    ['fields that are not known', answer(many(10_000))],
    ['a duration of digits', answer({ cacheDuration: '1'.repeat(500_000) })],
    ['lists in lists', `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ] as const) {
    test(`of ${what} is refused as soon as a good one of its length is read`, () => {
      const good = answer({ auth: many(10_000) });
      const peer = cpuTime(() => decodeResponse(good, v1));
      const ratio = cpuTime(() => assert.throws(() => decodeResponse(text, v1), AnswerFault)) / peer;
      assert.ok(ratio < 10, `takes ${ratio.toFixed(1)} times as long`);
    });
  }
});

test('a duration is read in a time that grows with its length', () => {
  const parse = (length: number) => cpuTime(() => assert.equal(parseDuration('1'.repeat(length)), undefined));
  const ratio = parse(400_000) / Math.max(parse(40_000), 1);
  assert.ok(ratio < 40, `ten times the digits take ${ratio.toFixed(1)} times as long`);
});
