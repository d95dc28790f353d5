/** JSON as it goes over the wire, and the few questions that the model of the API asks of it. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A field that is `undefined` is not there. */
export interface JsonObject {
  readonly [field: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** What lies at a path of fields, `undefined` if one of them is not there. */
export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let found = value;
  for (const field of path) found = isObject(found) && Object.hasOwn(found, field) ? found[field] : undefined;
  return found;
}

/** The object without its fields that are `undefined`. */
export function without<T extends JsonObject>(object: T): T {
  for (const field in object) {
    if (object[field] !== undefined) continue;
    return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T; // they were not there
  }
  return object;
}

/** The value without the fields that are `null`, in objects within it too. */
export function withoutNulls(value: JsonObject): JsonObject;
export function withoutNulls(value: Json): Json;
export function withoutNulls(value: Json): Json {
  if (isList(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(([field, inner]) =>
    inner === null || inner === undefined ? [] : [[field, withoutNulls(inner)] as const],
  );
  return Object.fromEntries(kept);
}
