/** Who manages which field of an object: `metadata.managedFields`, and server-side apply. */
import { isDeepStrictEqual } from 'node:util';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import {
  decodeFields,
  encodeFields,
  type Fields,
  fieldsOf,
  mergeFields,
  pathText,
  schemaOf,
  withoutFields,
} from './field-sets.ts';
import { isObject, type Json, type JsonObject, without } from './json.ts';
import type { GivenObject, ManagedFields, StoredObject } from './objects.ts';
import { ApiError } from './status.ts';

export interface Writer {
  readonly manager: string;
  readonly subresource?: 'status' | undefined;
  readonly time: string;
  /** What is applied, in a server-side apply. */
  readonly applied?: JsonObject | undefined;
}

interface Manager {
  readonly entry: ManagedFields;
  readonly paths: ReadonlySet<string>;
}

const managedMeta = ['annotations', 'finalizers', 'generateName', 'labels', 'ownerReferences'];

/** What of an object is managed: what a client may set in this part of it. */
function managedPart(type: ResourceType, object: JsonObject, subresource?: 'status'): JsonObject {
  const { apiVersion: _, kind: __, metadata, status, ...content } = object;
  if (subresource) return without({ status });
  const meta = Object.entries(isObject(metadata) ? metadata : {}).filter(([field]) => managedMeta.includes(field));
  return without({ ...content, metadata: Object.fromEntries(meta), status: type.status ? undefined : status });
}

/** What may have to be the object's: its name, UID and version. */
function unmanaged(metadata: Json | undefined): JsonObject {
  const given = Object.entries(isObject(metadata) ? metadata : {});
  return Object.fromEntries(given.filter(([field, value]) => !managedMeta.includes(field) && value !== null));
}

function managersOf(type: ResourceType, { metadata, ...content }: StoredObject): readonly Manager[] {
  if (metadata.managedFields === undefined) {
    const whole = { ...content, metadata };
    const fields = { ...managedPart(type, whole), ...managedPart(type, whole, 'status') };
    const entry = entryOf(type, { manager: 'before-first-apply', time: metadata.creationTimestamp });
    return [{ entry, paths: new Set(fieldsOf(fields, schemaOf(type)).keys()) }];
  }
  return metadata.managedFields.map((entry) => ({ entry, paths: decodeFields(entry.fieldsV1) }));
}

const entryOf = (type: ResourceType, { manager, applied, time, subresource }: Writer): ManagedFields => ({
  manager,
  operation: applied ? 'Apply' : 'Update',
  apiVersion: apiVersionOf(type),
  time,
  fieldsType: 'FieldsV1',
  fieldsV1: {},
  ...(subresource ? { subresource } : {}),
});

const isOf = ({ entry }: Manager, { manager, applied, subresource }: Writer) =>
  entry.manager === manager && entry.operation === (applied ? 'Apply' : 'Update') && entry.subresource === subresource;

/**
 * The object that a server-side apply makes: what is applied is there, and what this manager applied before and does not any more has
 * gone, unless another one manages it. Throws a 409 that names what would take a field from another manager, unless it is forced.
 */
export function applyTo(
  type: ResourceType,
  before: StoredObject,
  writer: Writer & { readonly applied: JsonObject },
  force: boolean,
): JsonObject {
  const schema = schemaOf(type);
  const managers = managersOf(type, before);
  const others = managers.filter((one) => !isOf(one, writer));
  const given = managedPart(type, writer.applied, writer.subresource);
  const merged = mergeFields(before, given, schema);
  if (!force) refuseConflicts(others, fieldsOf(before, schema), fieldsOf(merged, schema));
  const kept = new Set([...fieldsOf(given, schema).keys(), ...others.flatMap(({ paths }) => [...paths])]);
  const own = managers.find((one) => isOf(one, writer))?.paths ?? [];
  const dropped = new Set([...own].filter((path) => !kept.has(path)));
  const pruned = withoutFields(merged, schema, dropped);
  const object = isObject(pruned) ? pruned : {};
  return { ...object, metadata: { ...Object(object.metadata), ...unmanaged(writer.applied.metadata) } };
}

function refuseConflicts(others: readonly Manager[], before: Fields, after: Fields): void {
  const sorted = others.toSorted((one, other) => nameOf(one.entry).localeCompare(nameOf(other.entry)));
  const causes = sorted.flatMap(({ entry, paths }) => {
    const message = `conflict with ${nameOf(entry)}`;
    const lost = [...paths]
      .sort()
      .filter((path) => before.has(path) && !isDeepStrictEqual(before.get(path), after.get(path)));
    const changed = lost.filter((path) => after.has(path) || !isEmpty(before.get(path)));
    return changed.map((path) => ({ reason: 'FieldManagerConflict', message, field: pathText(path) }));
  });
  if (causes.length === 0) return;
  const [first] = causes;
  const byManager = Map.groupBy(causes, ({ message }) => message);
  const lines = [...byManager].flatMap(([message, of]) => [
    `${message.replace('conflict', 'conflicts')}:`,
    ...of.map(({ field }) => `- ${field}`),
  ]);
  const message =
    causes.length === 1
      ? `1 conflict: ${first?.message}: ${first?.field}`
      : `${causes.length} conflicts: ${lines.join('\n')}`;
  throw new ApiError(409, `Apply failed with ${message}`, { causes });
}

/** Filling an empty object takes it from no manager. */
const isEmpty = (value: Json | undefined) => isDeepStrictEqual(value, {}) || isDeepStrictEqual(value, []);

function nameOf({ manager, subresource, operation, apiVersion }: ManagedFields): string {
  const part = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${part}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}

/**
 * The object, whose writer manages what it has applied, or what it has changed; others lose what was changed. Objects that were not
 * created through the API are without managers until the first apply.
 */
export function withManagers<T extends GivenObject>(
  type: ResourceType,
  before: StoredObject | undefined,
  after: T,
  writer: Writer,
): T {
  if (before && !before.metadata.managedFields && !writer.applied) return after;
  const schema = schemaOf(type);
  const was = fieldsOf(before ?? {}, schema);
  const is = fieldsOf(after, schema);
  const isSame = (path: string) => is.has(path) && isDeepStrictEqual(was.get(path), is.get(path));
  const managers = before ? managersOf(type, before) : [];
  const own = managers.find((one) => isOf(one, writer)) ?? { entry: entryOf(type, writer), paths: new Set<string>() };
  const written = managedPart(type, writer.applied ?? after, writer.subresource);
  const set = [...fieldsOf(written, schema).keys()];
  const wanted = writer.applied ? set : new Set([...own.paths, ...set.filter((path) => !isSame(path))]);
  const paths = [...wanted].filter((path) => is.has(path));
  // Each keeps its place: what is only in another order would be a change.
  const entries = (managers.includes(own) ? managers : [...managers, own]).flatMap((one) => {
    const left = one === own ? paths : [...one.paths].filter(isSame);
    const entry = one === own ? { ...one.entry, apiVersion: apiVersionOf(type) } : one.entry;
    const fieldsV1 = encodeFields(left);
    if (left.length === 0) return [];
    return isDeepStrictEqual(fieldsV1, entry.fieldsV1) ? [entry] : [{ ...entry, time: writer.time, fieldsV1 }];
  });
  const metadata = { ...after.metadata, managedFields: entries.length > 0 ? entries : undefined };
  return { ...after, metadata: without(metadata) };
}
