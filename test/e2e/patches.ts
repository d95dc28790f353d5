// Compares FakeCluster's patches with the code that the API server patches with, on generated objects and patches.
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { isList, isObject, type Json, type JsonObject } from '../../src/testing/api/json.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from '../../src/testing/api/patch.ts';
import { ApiError } from '../../src/testing/api/status.ts';
import { askGo, tally } from './differential.ts';

interface Case {
  readonly type: 'json' | 'merge' | 'strategic';
  readonly kind: string;
  readonly object: JsonObject;
  readonly patch: Json;
}

type Theirs = { readonly result: Json } | { readonly code: number };

/** What the Go program prints where the API server's code panics. */
const panicked = 599;

const words = <T extends Json>(...choices: readonly T[]) => fc.constantFrom(...choices);
const some = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) => fc.record(fields, { requiredKeys: [] });

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

const together = (...parts: readonly fc.Arbitrary<object>[]) =>
  fc.tuple(...parts).map((all) => JSON.parse(JSON.stringify(Object.assign({}, ...all)))) as fc.Arbitrary<JsonObject>;
const nullable = (patch: boolean, value: fc.Arbitrary<Json>) =>
  patch ? fc.oneof({ weight: 4, arbitrary: value }, fc.constant(null)) : value;
const text = words('1', '2', '3');
const name = words('a', 'b', 'c', 'd');
const texts = (patch: boolean) => fc.dictionary(name, nullable(patch, text), { noNullPrototype: true });
/** A patch merges no lists; it may take one away. */
const list = (field: string, element: fc.Arbitrary<unknown>, patch: boolean) =>
  some({ [field]: patch ? fc.constant(null) : fc.array(element, { maxLength: 3 }) });

const metadata = (patch: boolean) =>
  together(some({ labels: texts(patch) }), list('finalizers', words('f/a', 'f/b', 'f/c'), patch));
const podSpec = (patch: boolean) =>
  together(
    list('containers', fc.record({ name, image: text }), patch),
    list('tolerations', some({ key: text }), patch),
    some({ nodeSelector: texts(patch), serviceAccountName: nullable(patch, text) }),
  );

/** An object of a kind, or a patch of one. */
const kinds: Readonly<Record<string, (patch: boolean) => fc.Arbitrary<JsonObject>>> = {
  Pod: (patch) => together(some({ metadata: metadata(patch), spec: podSpec(patch) })),
  Deployment: (patch) =>
    together(some({ spec: some({ template: some({ metadata: metadata(patch), spec: podSpec(patch) }) }) })),
  Service: (patch) =>
    together(
      some({
        spec: together(list('ports', fc.record({ port: name, name: text }), patch), some({ selector: texts(patch) })),
      }),
    ),
};

const strategic = fc
  .constantFrom(...Object.entries(kinds))
  .chain(([kind, of]) =>
    fc.record({ type: fc.constant('strategic' as const), kind: fc.constant(kind), object: of(false), patch: of(true) }),
  );
const cases: fc.Arbitrary<Case> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('json' as const),
      kind: fc.constant(''),
      object,
      patch: fc.array(operation, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('merge' as const), kind: fc.constant(''), object, patch: object }),
  },
  { weight: 4, arbitrary: strategic },
);

function ours({ type, object: given, patch }: Case): Theirs {
  try {
    if (type === 'json') return { result: jsonPatch(given, patch) };
    if (type === 'merge') return { result: mergePatch(given, patch) };
    return { result: strategicMergePatch(given, patch) };
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code };
    throw error;
  }
}

/** A null says the same as nothing once the object is stored. */
function asStored(value: Json): Json {
  if (isList(value)) return value.map(asStored);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(([key, inner]) =>
    inner === null || inner === undefined ? [] : [[key, asStored(inner)]],
  );
  return Object.fromEntries(kept);
}

/** How many patches came out how. Throws where one comes out in another way than theirs. */
export async function comparePatches(count: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const given = fc.sample(cases, { numRuns: count, seed }).map((one): Case => JSON.parse(JSON.stringify(one)));
  const lines = await askGo('control-plane/1.36', './patches', given);
  return tally<Case, Theirs>(seed, given, lines, (one, theirs) => {
    if ('code' in theirs && theirs.code === panicked) return `${one.type} patches that their code panics at`;
    const mine = ours(one);
    // Of several faults Go finds any one first.
    const same =
      'code' in theirs || 'code' in mine
        ? 'code' in theirs && 'code' in mine && (theirs.code === mine.code || one.type === 'strategic')
        : isDeepStrictEqual(
            one.type === 'strategic' ? asStored(mine.result) : mine.result,
            one.type === 'strategic' ? asStored(theirs.result) : theirs.result,
          );
    if (!same) throw new Error(`ours: ${JSON.stringify(mine)}`);
    return 'code' in theirs ? `${one.type} patches refused with ${theirs.code}` : `${one.type} patches applied`;
  });
}
