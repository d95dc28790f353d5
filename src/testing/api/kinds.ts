/** Objects as their kinds read them from a client: the fields that a server knows, the defaults, and derived fields. */
import { apiVersionOf, type ResourceType, storageKeyOf } from './built-in-types.ts';
import type { KindCall } from './http.ts';
import { isList, isObject, type Json, type JsonObject, valueAt, without, withoutNulls } from './json.ts';
import { type GivenObject, readMeta, withMeta } from './objects.ts';
import { badRequest, cannotBeHandled, unexplained } from './status.ts';

/** An object as a client sends it. Throws a 400 if it is of another kind or version, or its metadata is not what metadata is. */
export function readObject(type: ResourceType, body: Json): GivenObject {
  if (!isObject(body)) throw cannotBeHandled(type, 'the body is not an object');
  const { apiVersion, kind, metadata, ...rest } = body;
  const expected = apiVersionOf(type);
  if (type.custom && !(kind && apiVersion)) throw badRequest("Object 'Kind' or 'apiVersion' is missing");
  if ((kind && kind !== type.kind) || (apiVersion && apiVersion !== expected)) {
    throw badRequest(`${String(kind)} in ${String(apiVersion)} cannot be handled as a ${type.kind} in ${expected}`);
  }
  // A built-in kind has no null, nor has metadata: it is the same as a field that is not there.
  const content = type.custom ? without(rest) : withoutNulls(rest);
  return { metadata: readMeta(type, metadata), ...readKind(type, content) };
}

const readers: Readonly<Record<string, (content: JsonObject) => JsonObject>> = {
  'secrets.': readSecret,
  'configmaps.': readConfigMap,
  'leases.coordination.k8s.io': readLease,
};

/** What of an object is not metadata, as its kind reads it from a client, with the defaults of the kind. Throws a 400. */
export function readKind(type: ResourceType, content: JsonObject): JsonObject {
  return readers[storageKeyOf(type)]?.(content) ?? content;
}

/** The object in the form in which it is kept: a namespace has its name as a label. */
export function prepareKind<T extends GivenObject>(type: ResourceType, object: T): T {
  if (storageKeyOf(type) !== 'namespaces.') return object;
  const { name = '', labels } = object.metadata;
  return withMeta(object, { labels: { ...labels, 'kubernetes.io/metadata.name': name } });
}

const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;

/** Times of a Lease are in microseconds, with all six digits: a server takes no others. */
function readLease(content: JsonObject): JsonObject {
  for (const field of ['acquireTime', 'renewTime']) {
    const time = valueAt(content, ['spec', field]);
    if (time === undefined || microTime.test(String(time))) continue;
    const why = `${JSON.stringify(time)} is not a time in microseconds, such as 2026-01-02T03:04:05.000006Z`;
    throw unreadable('Lease', why);
  }
  return content;
}

const base64 = /^[A-Za-z0-9+/\r\n]*={0,2}$/;

const entriesOf = (value: Json | undefined) => Object.entries(isObject(value) ? value : {});

const unreadable = (kind: string, why: string) => cannotBeHandled({ kind, version: 'v1' }, why);

function checkTexts(kind: string, field: string, values: Json | undefined, isBase64: boolean): void {
  if (values !== undefined && !isObject(values)) throw unreadable(kind, `${field} is not an object`);
  for (const [key, value] of entriesOf(values)) {
    if (typeof value !== 'string') throw unreadable(kind, `${field}.${key} is not a string`);
    if (isBase64 && !base64.test(value)) throw unreadable(kind, `${field}.${key} is not base64`);
  }
}

/** Throws a 400 for values that are not text. */
function readConfigMap(content: JsonObject): JsonObject {
  checkTexts('ConfigMap', 'data', content.data, false);
  checkTexts('ConfigMap', 'binaryData', content.binaryData, true);
  return content;
}

/** `stringData` is written and never read. */
function readSecret({ stringData, ...content }: JsonObject): JsonObject {
  checkTexts('Secret', 'data', content.data, true);
  checkTexts('Secret', 'stringData', stringData, false);
  const texts = entriesOf(stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
  const data = Object.fromEntries([...entriesOf(content.data), ...texts]);
  return without({
    ...content,
    data: Object.keys(data).length === 0 ? undefined : data,
    type: content.type || 'Opaque',
  });
}

// FakeCluster knows no schemas; but client-node's models rename fields, such as `from` to `_from`, and an object with such a name means
// something else on a real server.
const renamed = /^(?:_(?:default|enum|from|int)|x_kubernetes_\w+)$/;
/** Fields whose keys are anyone's. */
const maps: ReadonlySet<string> = new Set(['annotations', 'labels', 'matchLabels', 'nodeSelector', 'properties']);

/**
 * The body of a write without such fields in its spec, with a warning on the response. Throws a 400, or for an apply a 500, if the
 * server refuses them.
 */
export function known({ type, mediaType, query, response }: KindCall, body: Json): Json {
  // Fields of a custom resource may have any name.
  if (type.custom) return body;
  const unknown: string[] = [];
  const kept = dropRenamed(body, unknown);
  if (unknown.length === 0) return body;
  if (mediaType === 'application/apply-patch+yaml') {
    throw unexplained(`failed to create typed patch object: .${unknown[0]}: field not declared in schema`);
  }
  const problems = unknown.map((path) => `unknown field "${path}"`).join(', ');
  const validation = query.get('fieldValidation') ?? 'Warn';
  if (validation === 'Strict') throw cannotBeHandled(type, `strict decoding error: ${problems}`);
  if (validation !== 'Ignore') response.setHeader('warning', `299 - ${JSON.stringify(problems)}`);
  return kept;
}

/** `unknown` receives the paths of what is dropped. The body may be an object, or a JSON patch. */
function dropRenamed(body: Json, unknown: string[]): Json {
  if (isList(body)) {
    return body.map((operation) => {
      if (!isObject(operation) || operation.value === undefined) return operation;
      const path = String(operation.path).split('/').slice(1).join('.');
      return path.startsWith('spec') ? { ...operation, value: drop(operation.value, path, unknown) } : operation;
    });
  }
  return isObject(body) && body.spec !== undefined ? { ...body, spec: drop(body.spec, 'spec', unknown) } : body;
}

function drop(value: Json, path: string, unknown: string[]): Json {
  if (isList(value)) return value.map((element, index) => drop(element, `${path}[${index}]`, unknown));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, inner]) => {
      const at = `${path}.${field}`;
      if (renamed.test(field)) unknown.push(at);
      if (inner === undefined || renamed.test(field)) return [];
      return [[field, maps.has(field) ? inner : drop(inner, at, unknown)]];
    }),
  );
}
