/**
 * Whether an object in a JSON text, at any depth, has a key twice. `JSON.parse` has accepted the text. The time is linear in its
 * length.
 */
export function hasDuplicateKeys(json: string): boolean {
  /** The keys of each object that is open; `undefined` for a list. */
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '"') {
      const end = endOfString(json, i);
      last = json.slice(i, end);
      i = end - 1;
    } else if (character === '{') open.push(new Set());
    else if (character === '[') open.push(undefined);
    else if (character === '}' || character === ']') open.pop();
    else if (character === ':') {
      // Equal keys may be written in different ways.
      const key: unknown = last.includes('\\') ? JSON.parse(last) : last.slice(1, -1);
      const keys = open.at(-1);
      if (keys?.has(String(key))) return true;
      keys?.add(String(key));
    }
  }
  return false;
}

/** Behind the closing quote of the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  let i = start + 1;
  while (i < json.length && json[i] !== '"') i += json[i] === '\\' ? 2 : 1;
  return i + 1;
}
