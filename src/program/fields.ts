/** Reading what somebody else wrote: fields of objects whose shape nobody has checked. */

/** The value of a field, where there is such an object; `undefined` else. */
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

/** The parts of a path such as `a.b[0]["c.d"].e`; a key that has dots in it is recognised by the content. */
export function keysOf(path: string, content: unknown): readonly (string | number)[] {
  const keys: (string | number)[] = [];
  let rest = path;
  let value = content;
  while (rest !== '') {
    const [all, index, quoted] = /^\[(?:(\d+)|("(?:[^"\\]|\\.)*"))\]\.?/.exec(rest) ?? [];
    let key: string | number;
    if (all !== undefined) {
      key = index === undefined ? unquoted(quoted ?? '') : Number(index);
      rest = rest.slice(all.length);
    } else {
      const known = typeof value === 'object' && value !== null ? Object.keys(value) : [];
      const fits = known.filter(
        (name) => name !== '' && rest.startsWith(name) && /^(?:$|\.|\[)/.test(rest.slice(name.length)),
      );
      const [longest = /^[^.[]*./.exec(rest)?.[0].replace(/[.[]$/, '') ?? rest] = fits.sort(
        (a, b) => b.length - a.length,
      );
      key = longest;
      rest = rest.slice(longest.length || 1).replace(/^\./, '');
    }
    keys.push(key);
    value = at(value, key);
  }
  return keys;
}

/** Messages escape what could write to a terminal, in a way that JSON does not always know. */
function unquoted(text: string): string {
  try {
    const toCharacter = (_: string, code: string) => String.fromCodePoint(Number.parseInt(code, 16));
    return String(JSON.parse(text.replace(/\\u\{([0-9a-f]+)\}/g, toCharacter)));
  } catch {
    return text;
  }
}
