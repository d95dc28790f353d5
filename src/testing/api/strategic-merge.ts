/** Strategic merge patch: a merge patch in which lists are merged too, by rules of their kind and directives of the patch. */

import { isList, isObject, type Json, type JsonObject } from './json.ts';
import { isReplaced, listRule } from './list-rules.ts';
import type { ResourceType } from './resource-type.ts';
import { ApiError, badRequest, unexplained } from './status.ts';

const directive = '$patch';
const retain = '$retainKeys';
const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

type Path = readonly string[];
type Fields = Record<string, Json | undefined>;

/** Merges a patch into an object of a built-in kind. Throws a 400, 422 or 500 for a patch that cannot be merged. */
export function strategicMerge(type: ResourceType, object: JsonObject, patch: Json): JsonObject {
  if (!isObject(patch)) throw badRequest('the patch is not an object');
  return withoutLeftovers(mergeObject(type, object, patch, []));
}

/** A built-in kind has no field for a directive that nothing was done with. */
function withoutLeftovers(object: JsonObject): JsonObject {
  const clean = (value: Json): Json =>
    isList(value) ? value.map(clean) : isObject(value) ? withoutLeftovers(value) : value;
  const kept = Object.entries(object).filter(([field, value]) => !field.startsWith('$') && value !== undefined);
  return Object.fromEntries(kept.map(([field, value]) => [field, clean(value ?? null)]));
}

function mergeObject(type: ResourceType, object: JsonObject, patch: JsonObject, path: Path): JsonObject {
  const said = patch[directive];
  if (said === 'replace') return omit(patch, directive);
  if (said === 'delete') return {};
  if (said !== undefined) throw unexplained(`unknown patch type found: ${JSON.stringify(said)}`);
  const result: Fields = retained(object, patch);
  const rest: Fields = { ...patch };
  delete rest[retain];
  for (const name of Object.keys(patch).filter((field) => field.startsWith(orderPrefix))) {
    const field = name.slice(orderPrefix.length);
    const merged = mergeOrdered(type, result[field], rest[field], patch[name], [...path, field]);
    if (merged) set(result, field, merged);
    delete rest[name];
    delete rest[field];
  }
  for (const [name, value] of Object.entries(rest)) mergeField(type, result, name, value, path);
  return result;
}

function mergeField(type: ResourceType, result: Fields, name: string, value: Json | undefined, path: Path): void {
  const deletes = name.startsWith(deletePrefix);
  const field = deletes ? name.slice(deletePrefix.length) : name;
  const there = Object.hasOwn(result, field) ? result[field] : undefined;
  const within = [...path, field];
  if (value === null || value === undefined) delete result[field];
  else if (deletes) {
    if (!isList(there) || !isList(value)) return;
    set(
      result,
      field,
      there.filter((element) => !value.includes(element)),
    );
  } else if (isObject(there) && isObject(value)) {
    set(result, field, isReplaced(type, within) ? value : mergeObject(type, there, value, within));
  } else if (isList(there) && isList(value)) {
    const rule = listRule(type, within);
    set(result, field, rule ? mergeList(type, there, value, rule.key, within).merged : value);
  } else {
    const kept = withoutDirectives(value);
    if (kept === undefined) delete result[field];
    else set(result, field, kept);
  }
}

/** Only the fields that `$retainKeys` names, all of which the patch may set. */
function retained(object: JsonObject, patch: JsonObject): Fields {
  const names = patch[retain];
  if (names === undefined) return { ...object };
  if (!isList(names)) throw badRequest('invalid patch format of retainKeys');
  for (const [field, value] of Object.entries(patch)) {
    const about = field === retain || field.startsWith(orderPrefix) || field.startsWith(deletePrefix);
    if (value !== null && !about && !names.includes(field)) throw badRequest('invalid patch format of retainKeys');
  }
  return Object.fromEntries(Object.entries(object).filter(([field]) => names.includes(field)));
}

/** A list for which the patch gives the order of its elements. */
function mergeOrdered(
  type: ResourceType,
  there: Json | undefined,
  patch: Json | undefined,
  order: Json | undefined,
  path: Path,
): readonly Json[] | undefined {
  if (![there, patch, order].every((list) => list === undefined || isList(list)))
    throw unexplained(`${orderPrefix}${path.at(-1)} is about lists only`);
  if (there === undefined && patch === undefined) return undefined;
  const original = isList(there) ? there : [];
  const patched = isList(patch) ? patch : [];
  const wanted = isList(order) ? order : [];
  const key = listRule(type, path)?.key;
  checkOrder(patched, wanted, key);
  if (original.length + patched.length === 0) throw unexplained('no elements in any of the given slices');
  if (patch === undefined) return ordered(original, wanted, original, key);
  if (there === undefined) {
    const added = patched.flatMap((element) => withoutDirectives(element) ?? []);
    return ordered(added, wanted, original, key);
  }
  if (!listRule(type, path)) return ordered(patched, wanted, original, key);
  const { merged, stood } = mergeList(type, original, patched, key, path);
  return ordered(merged, wanted, stood, key);
}

/** The elements of the patch have to stand in the order that it gives. */
function checkOrder(patch: readonly Json[], order: readonly Json[], key: string | undefined): void {
  if (patch.length === 0 || order.length === 0) return;
  const stays = patch.filter((element) => !isObject(element) || element[directive] !== 'delete');
  let [index, at] = [0, 0];
  while (index < stays.length && at < order.length) {
    const element = stays[index];
    if (isObject(element) && element[directive] !== undefined) index += 1;
    else if (identity(element, key) === identity(order[at++], key)) index += 1;
  }
  if (index < stays.length) throw unexplained(`the order in the patch does not match ${orderPrefix}`);
}

interface MergedList {
  readonly merged: readonly Json[];
  /** What counts as the order before: what is new has the place of what is gone. */
  readonly stood: readonly Json[];
}

function mergeList(
  type: ResourceType,
  there: readonly Json[],
  patch: readonly Json[],
  key: string | undefined,
  path: Path,
): MergedList {
  const all = [...there, ...patch];
  if (all.some(isList)) throw new ApiError(422, 'Invalid', 'lists of lists are not supported', {});
  if (all.length === 0) return { merged: there, stood: there };
  const objects = all.filter(isObject).length;
  if (objects !== 0 && objects !== all.length) throw unexplained('list element types are not identical');
  if (objects === 0) return { merged: ordered([...new Set(all)], patch, there, undefined), stood: there };
  if (key === undefined) throw unexplained(`cannot merge lists without merge key for ${path.join('.')}`);
  const { kept, changes, replaces } = applyDirectives(there, patch, key);
  if (replaces) return { merged: changes, stood: there };
  const merged = [...kept];
  for (const change of changes) {
    const index = merged.findIndex((element) => same(element, change, key));
    const element = merged[index];
    if (isObject(element) && isObject(change)) merged[index] = mergeObject(type, element, change, path);
    else merged.push(change);
  }
  return { merged: ordered(merged, changes, kept, key), stood: merged.slice(0, there.length) };
}

/** Elements of a patch may say that an element goes, or that they are all that stays. */
function applyDirectives(there: readonly Json[], patch: readonly Json[], key: string) {
  let kept = there;
  let replaces = false;
  const changes: Json[] = [];
  for (const element of patch) {
    const said = isObject(element) ? element[directive] : undefined;
    if (said === 'replace') replaces = true;
    else if (said === 'delete') {
      identity(element, key);
      kept = kept.filter((other) => !same(other, element, key));
    } else if (said !== undefined) throw unexplained(`unknown patch type found: ${JSON.stringify(said)}`);
    else {
      if (!replaces) identity(element, key);
      changes.push(element);
    }
  }
  return { kept, changes, replaces };
}

const same = (one: Json, other: Json, key: string) =>
  isObject(one) && isObject(other) && one[key] !== undefined && one[key] === other[key];

/** What tells an element apart. */
function identity(element: Json | undefined, key: string | undefined): Json | undefined {
  if (key === undefined) return element;
  const value = isObject(element) ? element[key] : undefined;
  if (value === undefined)
    throw unexplained(`map: ${JSON.stringify(element)} does not contain declared merge key: ${key}`);
  return value;
}

/** The elements that the patch names in its order, the others where they stood before, as far as both can be. */
function ordered(
  elements: readonly Json[],
  order: readonly Json[],
  before: readonly Json[],
  key: string | undefined,
): readonly Json[] {
  const positionsIn = (list: readonly Json[]) => {
    const positions = new Map<Json | undefined, number>();
    for (const [index, element] of list.entries()) {
      const id = identity(element, key);
      if (!positions.has(id)) positions.set(id, index);
    }
    return (element: Json | undefined) => positions.get(identity(element, key)) ?? -1;
  };
  const [wanted, stood] = [positionsIn(order), positionsIn(before)];
  const named = sorted(
    elements.filter((element) => wanted(element) >= 0),
    wanted,
  );
  const others = sorted(
    elements.filter((element) => wanted(element) < 0),
    stood,
  );
  const result: Json[] = [];
  let [left, right] = [0, 0];
  while (left < others.length || right < named.length) {
    const [other, name] = [others[left], named[right]];
    const first =
      name === undefined ||
      (other !== undefined && stood(name) >= 0 && stood(other) >= 0 && stood(other) < stood(name));
    if (other !== undefined && first) {
      result.push(other);
      left += 1;
    } else if (name !== undefined) {
      result.push(name);
      right += 1;
    }
  }
  return result;
}

/** Elements by their positions. One without a position goes before its predecessor, as it does in Kubernetes. */
function sorted(elements: readonly Json[], position: (element: Json | undefined) => number): readonly Json[] {
  const result: Json[] = [];
  for (const element of elements) {
    let at = result.length;
    const before = () =>
      position(element) < 0 || position(result[at - 1]) < 0 || position(element) < position(result[at - 1]);
    while (at > 0 && before()) at -= 1;
    result.splice(at, 0, element);
  }
  return result;
}

/** What is taken over as it is: without nulls, and without what a directive takes away. */
function withoutDirectives(value: Json): Json | undefined {
  if (isList(value)) return value.flatMap((element) => withoutDirectives(element) ?? []);
  if (!isObject(value)) return value;
  if (value[directive] !== undefined) return undefined;
  const result: Fields = {};
  for (const [field, inner] of Object.entries(value)) {
    const kept = inner === null || inner === undefined ? undefined : withoutDirectives(inner);
    if (kept !== undefined) set(result, field, kept);
  }
  return result;
}

/** A field may be called `__proto__`. */
function set(object: Fields, field: string, value: Json): void {
  Object.defineProperty(object, field, { value, enumerable: true, configurable: true, writable: true });
}

const omit = (object: JsonObject, field: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== field));
