/** Fields of objects whose shape has not been checked. */

/** The value of a field; `undefined` if there is none. */
export function at(value: unknown, ...keys: readonly (string | number)[]): unknown {
  let found: unknown = value;
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

export function textAt(value: unknown, ...keys: readonly (string | number)[]): string | undefined {
  const found = at(value, ...keys);
  return typeof found === 'string' ? found : undefined;
}

export function listAt(value: unknown, ...keys: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...keys);
  return Array.isArray(found) ? found : [];
}

/** The parts of a path such as `a.b[0]["c.d"].e`. */
export function keysOf(path: string): readonly (string | number)[] {
  const parts = path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|[^.[\]]+/g);
  return [...parts].map(([name, index, quoted]) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? name : unquoted(quoted);
  });
}

/** Messages escape what could write to a terminal, in a way that JSON does not always know. */
function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
