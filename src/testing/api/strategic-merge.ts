/** Strategic merge patch: a merge patch in which lists are merged too, by the keys of their kind. */

import { isList, isObject, type Json, type JsonObject } from './json.ts';
import { isReplaced, listRule } from './list-rules.ts';
import { setField, withoutNulls } from './patch.ts';
import type { ResourceType } from './resource-type.ts';
import { ApiError, badRequest, notImplemented, unexplained } from './status.ts';

type Path = readonly string[];

/** Merges a patch into an object of a built-in kind. Throws a 400, 422, 500 or 501 for a patch that cannot be merged. */
export function strategicMerge(type: ResourceType, object: JsonObject, patch: Json): JsonObject {
  if (!isObject(patch)) throw badRequest('the patch is not an object');
  refuseDirectives(patch);
  return mergeObject(type, object, patch, []);
}

/** `$patch`, `$setElementOrder/...` and the like, which `kubectl apply` and `kubectl edit` send. */
function refuseDirectives(value: Json | undefined): void {
  if (isList(value)) value.forEach(refuseDirectives);
  if (!isObject(value)) return;
  const directive = Object.keys(value).find((field) => field.startsWith('$'));
  if (directive !== undefined) throw notImplemented(`the directive ${directive} of a strategic merge patch`);
  Object.values(value).forEach(refuseDirectives);
}

function mergeObject(type: ResourceType, object: JsonObject, patch: JsonObject, path: Path): JsonObject {
  const result = { ...object };
  for (const [field, value] of Object.entries(patch)) {
    const there = Object.hasOwn(object, field) ? object[field] : undefined;
    setField(result, field, mergeValue(type, there, value ?? null, [...path, field]));
  }
  return result;
}

function mergeValue(type: ResourceType, there: Json | undefined, patch: Json, path: Path): Json | undefined {
  if (patch === null) return undefined;
  if (isObject(there) && isObject(patch)) {
    return isReplaced(type, path) ? patch : mergeObject(type, there, patch, path);
  }
  const rule = isList(there) && isList(patch) ? listRule(type, path) : undefined;
  return rule && isList(there) && isList(patch) ? mergeList(type, there, patch, rule.key, path) : withoutNulls(patch);
}

function mergeList(
  type: ResourceType,
  there: readonly Json[],
  patch: readonly Json[],
  key: string | undefined,
  path: Path,
): readonly Json[] {
  const all = [...there, ...patch];
  if (all.some(isList)) throw new ApiError(422, 'Invalid', 'lists of lists are not supported', {});
  const objects = all.filter(isObject);
  if (objects.length !== 0 && objects.length !== all.length) throw unexplained('list element types are not identical');
  if (objects.length === 0) return ordered([...new Set(all)], patch, there, (element) => element);
  if (key === undefined) throw unexplained(`cannot merge lists without merge key for ${path.join('.')}`);
  const identity = (element: Json) => {
    const value = isObject(element) ? element[key] : undefined;
    if (value !== undefined) return value;
    throw unexplained(`map: ${JSON.stringify(element)} does not contain declared merge key: ${key}`);
  };
  const merged = [...there];
  for (const change of patch) {
    const index = merged.findIndex((element) => identity(element) === identity(change));
    const element = merged[index];
    if (isObject(element) && isObject(change)) merged[index] = mergeObject(type, element, change, path);
    else merged.push(change);
  }
  return ordered(merged, patch, there, identity);
}

/** The elements that the patch names in its order, the others where they stood before, as far as both can be. */
function ordered(
  elements: readonly Json[],
  patch: readonly Json[],
  before: readonly Json[],
  identity: (element: Json) => Json,
): readonly Json[] {
  const positionsIn = (list: readonly Json[]) => {
    const ids = list.map(identity);
    return (element: Json) => ids.indexOf(identity(element));
  };
  const [wanted, stood] = [positionsIn(patch), positionsIn(before)];
  const others = elements.filter((element) => wanted(element) < 0);
  const result: Json[] = [];
  for (const named of elements.filter((element) => wanted(element) >= 0).sort((a, b) => wanted(a) - wanted(b))) {
    while (others[0] !== undefined && stood(others[0]) < stood(named)) result.push(...others.splice(0, 1));
    result.push(named);
  }
  return [...result, ...others];
}
