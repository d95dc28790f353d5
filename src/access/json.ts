/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** No real configuration nests deeper, and a deeper one could exhaust the stack. */
const maxDepth = 256;

/**
 * Copies a JSON value, so that later changes to the original cannot reach the copy.
 * `refuse(path, reason)` is called for the first thing that JSON cannot hold, and must throw. A number beyond 2^53 is
 * refused as well: it lost digits when it was parsed, and the plugin would get another number than was written.
 */
export function copyJson(
  value: unknown,
  path: string,
  refuse: (path: string, reason: string) => never,
  depth = 0,
): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return refuse(path, 'is not a number that JSON can hold');
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return refuse(path, 'is an integer beyond 2^53, which has already lost digits: write it as a string');
    }
    return value;
  }
  if (typeof value !== 'object') return refuse(path, `is not JSON but a ${typeof value}`);
  if (depth >= maxDepth) return refuse(path, `is nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) return value.map((item, index) => copyJson(item, `${path}[${index}]`, refuse, depth + 1));
  // fromEntries defines properties, so that the key __proto__ stays plain data.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, copyJson(item, `${path}.${key}`, refuse, depth + 1)]),
  );
}
