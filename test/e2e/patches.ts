// Compares FakeCluster's patches with the code that the API server patches with, on generated objects and patches.
import fc from 'fast-check';
import { ApiState } from '../../src/testing/api/api-state.ts';
import { equal, isList, isObject, type Json, type JsonObject } from '../../src/testing/api/json.ts';
import { jsonPatch, mergePatch } from '../../src/testing/api/patch.ts';
import { ApiError } from '../../src/testing/api/status.ts';
import { strategicMerge } from '../../src/testing/api/strategic-merge.ts';
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

/** A list of elements with a key. */
const list = (name: string, key: string, element: fc.Arbitrary<unknown>, patch: boolean) => {
  const elements = fc.uniqueArray(element, { maxLength: 4, selector: (one) => Object(one)[key] });
  return some({ [name]: patch ? fc.oneof({ weight: 5, arbitrary: elements }, fc.constant(null)) : elements });
};
const together = (...parts: readonly fc.Arbitrary<object>[]) =>
  fc.tuple(...parts).map((all) => JSON.parse(JSON.stringify(Object.assign({}, ...all)))) as fc.Arbitrary<JsonObject>;
const nullable = (patch: boolean, value: fc.Arbitrary<Json>) =>
  patch ? fc.oneof({ weight: 4, arbitrary: value }, fc.constant(null)) : value;
const text = words('1', '2', '3');
const name = words('a', 'b', 'c', 'd');

const metadata = (patch: boolean) =>
  together(
    some({ labels: fc.dictionary(name, nullable(patch, text), { noNullPrototype: true }) }),
    some({ finalizers: fc.uniqueArray(words('f/a', 'f/b', 'f/c'), { maxLength: 3 }) }),
    list('ownerReferences', 'uid', together(fc.record({ uid: name }), some({ name: text })), patch),
  );

const container = (patch: boolean) =>
  together(
    fc.record({ name }),
    some({
      image: nullable(patch, text),
      command: fc.array(text, { maxLength: 2 }),
      resources: some({
        limits: fc.dictionary(words('cpu', 'memory'), nullable(patch, text), { noNullPrototype: true }),
      }),
    }),
    list('env', 'name', together(fc.record({ name }), some({ value: nullable(patch, text) })), patch),
    list('volumeMounts', 'mountPath', together(fc.record({ mountPath: name }), some({ name: text })), patch),
  );
const volume = (patch: boolean) =>
  together(
    fc.record({ name }),
    some({
      emptyDir: nullable(patch, fc.constant({})),
      configMap: nullable(patch, fc.record({ name: text })),
    }),
  );
const podSpec = (patch: boolean) =>
  together(
    list('containers', 'name', container(patch), patch),
    list('volumes', 'name', volume(patch), patch),
    some({
      nodeSelector: fc.dictionary(name, nullable(patch, text), { noNullPrototype: true }),
      tolerations: fc.array(some({ key: text }), { maxLength: 2 }),
    }),
  );

/** An object of a kind, or a patch of one. */
const kinds: Readonly<Record<string, (patch: boolean) => fc.Arbitrary<JsonObject>>> = {
  Pod: (patch) => together(some({ metadata: metadata(patch), spec: podSpec(patch) })),
  Deployment: (patch) =>
    together(some({ spec: some({ template: some({ metadata: metadata(patch), spec: podSpec(patch) }) }) })),
  Service: (patch) =>
    together(
      some({
        spec: together(
          list('ports', 'port', together(fc.record({ port: name }), some({ name: text })), patch),
          some({ selector: fc.dictionary(name, nullable(patch, text), { noNullPrototype: true }) }),
        ),
      }),
    ),
  ServiceAccount: (patch) =>
    together(
      list('secrets', 'name', fc.record({ name }), patch),
      some({ imagePullSecrets: fc.array(fc.record({ name }), { maxLength: 2 }) }),
    ),
  Node: (patch) =>
    together(
      some({
        spec: some({ podCIDRs: fc.uniqueArray(text), taints: fc.array(fc.record({ key: text }), { maxLength: 2 }) }),
        status: together(
          list('conditions', 'type', together(fc.record({ type: name }), some({ status: text })), patch),
          list('addresses', 'type', together(fc.record({ type: name }), some({ address: text })), patch),
        ),
      }),
    ),
  ValidatingWebhookConfiguration: (patch) =>
    list(
      'webhooks',
      'name',
      together(
        fc.record({ name }),
        list('matchConditions', 'name', together(fc.record({ name }), some({ expression: text })), patch),
      ),
      patch,
    ) as fc.Arbitrary<JsonObject>,
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

const state = new ApiState({ history: 1, clock: Date.now });

function ours({ type, kind, object: given, patch }: Case): Theirs {
  try {
    if (type === 'json') return { result: jsonPatch(given, patch) };
    if (type === 'merge') return { result: mergePatch(given, patch) };
    const resource = state.types().find((one) => one.kind === kind);
    if (!resource) throw new Error(`no kind ${kind}`);
    return { result: strategicMerge(resource, given, patch) };
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
  const lines = await askGo('control-plane', './patches', given);
  return tally<Case, Theirs>(seed, given, lines, (one, theirs) => {
    if ('code' in theirs && theirs.code === panicked) return `${one.type} patches that their code panics at`;
    const mine = ours(one);
    // Of several faults Go finds any one first.
    const same =
      'code' in theirs || 'code' in mine
        ? 'code' in theirs && 'code' in mine && (theirs.code === mine.code || one.type === 'strategic')
        : equal(
            one.type === 'strategic' ? asStored(mine.result) : mine.result,
            one.type === 'strategic' ? asStored(theirs.result) : theirs.result,
          );
    if (!same) throw new Error(`ours: ${JSON.stringify(mine)}`);
    return 'code' in theirs ? `${one.type} patches refused with ${theirs.code}` : `${one.type} patches applied`;
  });
}
