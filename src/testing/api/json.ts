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

/** The object with another value at a path; objects on the way are made, `undefined` takes the field away. */
export function withValueAt(object: JsonObject, path: readonly string[], value: Json | undefined): JsonObject {
  const [field, ...rest] = path;
  if (field === undefined) return isObject(value) ? value : {};
  const inner = object[field];
  return without({
    ...object,
    [field]: rest.length === 0 ? value : withValueAt(isObject(inner) ? inner : {}, rest, value),
  });
}

/** The object without its fields that are `undefined`. */
export function without<T extends JsonObject>(object: T): T {
  for (const field in object) {
    if (object[field] !== undefined) continue;
    return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T; // they were not there
  }
  return object;
}

/** Deep equality. The order of an object's fields does not matter. */
export function equal(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (isList(one) && isList(other)) {
    return one.length === other.length && one.every((value, index) => equal(value, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const fields = Object.keys(one);
  return (
    fields.length === Object.keys(other).length &&
    fields.every((field) => Object.hasOwn(other, field) && equal(one[field], other[field]))
  );
}
