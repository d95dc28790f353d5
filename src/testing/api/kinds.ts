/** What single kinds do with their objects beyond what all do: defaults, derived fields, and fields that a server drops. */

import { type ResourceType, storageKeyOf } from './built-in-types.ts';
import { isList, isObject, type Json, type JsonObject, valueAt, without } from './json.ts';
import { type GivenObject, withMeta } from './objects.ts';
import { cannotBeHandled } from './status.ts';

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

/** The body of a write without such fields in its spec, and which ones it had. */
export function dropRenamed(body: Json): { readonly known: Json; readonly unknown: readonly string[] } {
  const unknown: string[] = [];
  if (isList(body)) {
    const known = body.map((operation) => {
      if (!isObject(operation) || operation.value === undefined) return operation;
      const path = String(operation.path).split('/').slice(1).join('.');
      return path.startsWith('spec') ? { ...operation, value: drop(operation.value, path, unknown) } : operation;
    });
    return { known, unknown };
  }
  if (!isObject(body) || body.spec === undefined) return { known: body, unknown };
  return { known: { ...body, spec: drop(body.spec, 'spec', unknown) }, unknown };
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
