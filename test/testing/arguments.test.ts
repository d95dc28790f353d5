import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCertificateAuthority, FakeCluster, writePlugin } from '../../src/testing/index.ts';
import { type Row, tryWrong, untyped } from '../fixtures/wrong-arguments.ts';

const optional = ['undefined', 'empty object', 'object without prototype'];

test('a wrong argument of what is there for tests is a TypeError that names it', async () => {
  const authority = createCertificateAuthority();
  const calls: Readonly<Record<string, Row>> = {
    'createCertificateAuthority(value)': [
      untyped({ createCertificateAuthority }, 'createCertificateAuthority'),
      /createCertificateAuthority: name must be a text/,
      ['undefined', 'text', 'empty text'],
    ],
    'issue(value)': [untyped(authority, 'issue'), /issue: (?:its options|commonName|hunter2)/],
    'issue({ commonName: value })': [
      (commonName) => untyped(authority, 'issue')({ commonName }),
      /issue: commonName must be a text/,
      ['text', 'empty text'],
    ],
    'FakeCluster.start(value)': [
      untyped(FakeCluster, 'start'),
      /FakeCluster.start: (?:its options|hunter2 is no)/,
      optional,
    ],
    'FakeCluster.start({ tokens: value })': [
      (tokens) => untyped(FakeCluster, 'start')({ tokens }),
      /start: tokens must be an object/,
      ['object', ...optional],
    ],
    'FakeCluster.start({ namespaces: value })': [
      (namespaces) => untyped(FakeCluster, 'start')({ namespaces }),
      /start: namespaces must be a list of texts/,
      ['undefined', 'array'],
    ],
    'writePlugin(value)': [untyped({ writePlugin }, 'writePlugin'), /a plugin's answer/, optional],
    'writePlugin({}, value)': [
      (value) => untyped({ writePlugin }, 'writePlugin')({}, value),
      /writePlugin: (?:its options|hunter2 is no)/,
      optional,
    ],
  };
  const wrong = await tryWrong(calls, (error, names) =>
    (error instanceof TypeError || error instanceof RangeError) && names.test(error.message)
      ? undefined
      : 'throws something else',
  );
  assert.deepEqual(wrong, []);
});
