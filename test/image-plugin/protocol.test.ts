import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { keyProblem } from '../../src/image-credentials/keyring.ts';
import { decodeResponse } from '../../src/image-credentials/protocol.ts';
import { encodeAnswer } from '../../src/image-plugin/protocol.ts';
import { v1 } from '../fixtures/image-plugins.ts';
import { fc } from '../fixtures/property.ts';

const entry = { username: 'u', password: 'p' };

describe("a plugin's own answer", () => {
  for (const [answer, message] of [
    [undefined, /^the plugin's answer: must be an object with auth$/],
    [[], /must be an object with auth$/],
    [{}, /answer: auth: must be an object of \{ username, password \} by pattern of images, or null$/],
    [{ auth: [entry] }, /answer: auth: must be an object of/],
    [{ auth: { 'r.io': 'SECRET' } }, /answer: auth: an entry: must be \{ username, password \}, both of them text$/],
    [{ auth: { SECRET: null } }, /answer: auth: an entry: must be \{ username, password \}/],
    [{ auth: { 'r.io': { username: 'u', password: undefined } } }, /auth: an entry: password: must be text$/],
    [
      { auth: { SECRET: { ...entry, expires: 'SECRET' } } },
      /auth: an entry: expires: is not a known field; known are username, password$/,
    ],
    [
      { auth: { 'r.io': { ...entry, Username: 'u' } } },
      /an entry: Username: is not a known field \(did you mean username\?\)$/,
    ],
    [{ auth: { 'https://r.io:SECRET': entry } }, /auth: an entry: its key has a port that is not a number$/],
    [
      { auth: { 'r.io team': entry } },
      /auth: an entry: its key has a character that is not allowed in a host or path$/,
    ],
    [{ auth: {}, cacheKeyType: 'registry' }, /cacheKeyType: must be one of Image, Registry, Global$/],
    [
      { auth: {}, cacheDurationMs: Infinity },
      /cacheDurationMs: must be a number of milliseconds, less than 292 years$/,
    ],
    [{ auth: {}, cacheDurationMs: 1e24 }, /cacheDurationMs: must be/],
    [{ auth: { 'r.io': { username: 'u', password: 'x'.repeat(2 ** 20) } } }, /is over 1048576 bytes, the most that/],
  ] as const) {
    test(`is refused where it is ${inspect(answer, { maxStringLength: 10 })}`, () => {
      assert.throws(
        () => encodeAnswer(v1, answer),
        (error: unknown) => {
          assert.ok(error instanceof Error);
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /SECRET/);
          return true;
        },
      );
    });
  }

  test('may be null, or empty, and is good for its image only where it says nothing else', () => {
    for (const auth of [null, {}]) {
      const {
        cacheKeyType,
        cacheDurationMs,
        auth: read,
      } = decodeResponse(JSON.stringify(encodeAnswer(v1, { auth })), v1);
      assert.deepEqual([cacheKeyType, cacheDurationMs, read.size], ['Image', undefined, 0]);
    }
  });

  test('is read by a kubelet as it was meant, whatever is in it', () => {
    const duration = fc.oneof(
      fc.constantFrom(0, -0, 1e-7, 0.5, 1.5e-6, 1234.5678, -300_000, 2 ** 53 / 1000, 9.2e12, -9.2e12),
      fc.double({ min: -9.2e12, max: 9.2e12, noNaN: true }),
      fc.integer({ min: 0, max: 86_400_000 }),
    );
    const pattern = fc.string().filter((key) => key !== '__proto__' && keyProblem(key) === undefined);
    const auth = fc.dictionary(pattern, fc.record({ username: fc.string(), password: fc.string() }));
    fc.assert(
      fc.property(auth, duration, fc.constantFrom('Image', 'Registry', 'Global'), (logins, ms, cacheKeyType) => {
        const answer = { auth: logins, cacheKeyType, cacheDurationMs: ms };
        const read = decodeResponse(JSON.stringify(encodeAnswer(v1, answer)), v1);
        assert.equal(read.cacheKeyType, cacheKeyType);
        assert.deepEqual(
          [...read.auth],
          Object.entries(logins).map(([key, value]) => [key, { ...value }]),
        );
        const error = Math.abs((read.cacheDurationMs ?? Number.NaN) - ms);
        assert.ok(error <= 1e-6 + Math.abs(ms) * 1e-9, `${ms} became ${read.cacheDurationMs}`);
      }),
      { numRuns: 500 },
    );
  });
});
