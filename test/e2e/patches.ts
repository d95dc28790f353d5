// Compares FakeCluster's patches with the code that the API server patches with, on generated objects and patches.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/testing/api/json.ts';
import { jsonPatch, mergePatch } from '../../src/testing/api/patch.ts';
import { ApiError } from '../../src/testing/api/status.ts';
import { askGo, tally } from './differential.ts';

interface Case {
  readonly type: 'json' | 'merge';
  readonly object: JsonObject;
  readonly patch: Json;
}

type Theirs = { readonly result: Json } | { readonly code: number };

/** What the Go program prints where the API server's code panics. */
const panicked = 599;

const words = <T extends Json>(...choices: readonly T[]) => fc.constantFrom(...choices);

// Small documents over few names, so that patches meet what is there.
const field = words('a', 'b', 'c', 'x/y', '~');
const { document } = fc.letrec<{ document: Json; object: JsonObject }>((tie) => ({
  document: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    words<Json>(1, 'text', true, null),
    fc.array(tie('document'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(field, tie('document'), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<JsonObject>,
}));
const object = fc.dictionary(field, document, { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<JsonObject>;
const token = fc.oneof(
  { weight: 3, arbitrary: words('a', 'b', 'c', 'x~1y', '~0') },
  words('0', '1', '-', '-1', '01', '+1', '-3', '9'),
);
const pointer = fc.array(token, { minLength: 1, maxLength: 3, size: 'xsmall' }).map((tokens) => `/${tokens.join('/')}`);
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ op: words('add', 'add', 'replace', 'test'), path: pointer, value: document }) },
  fc.record({ op: words('remove', 'add', 'change'), path: words('', '/', '/a') }),
  fc.record({ op: words('remove'), path: pointer }),
  fc.record({ op: words('move', 'copy'), from: pointer, path: pointer }),
);

const cases: fc.Arbitrary<Case> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('json' as const),
      object,
      patch: fc.array(operation, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('merge' as const), object, patch: object }) },
);

function ours({ type, object: given, patch }: Case): Theirs {
  try {
    return { result: type === 'json' ? jsonPatch(given, patch) : mergePatch(given, patch) };
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code };
    throw error;
  }
}

/** How many patches came out how. Throws where one comes out in another way than theirs. */
export async function comparePatches(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const given = fc.sample(cases, { numRuns: count, seed }).map((one): Case => JSON.parse(JSON.stringify(one)));
  const lines = await askGo('control-plane/1.36', './patches', given);
  return tally<Case, Theirs>(seed, given, lines, (one, theirs) => {
    if ('code' in theirs && theirs.code === panicked) return `${one.type} patches that their code panics at`;
    const mine = ours(one);
    if (!isDeepStrictEqual(mine, theirs)) throw new Error(`ours: ${JSON.stringify(mine)}`);
    return 'code' in theirs ? `${one.type} patches refused with ${theirs.code}` : `${one.type} patches applied`;
  });
}
