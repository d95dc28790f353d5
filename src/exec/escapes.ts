/** A text, and the same without its escapes: a program that prints what it was given may have escaped it. */
export interface View {
  readonly text: string;
  /** Where each of its characters begins and ends in the first view, which is the text itself; `undefined` for that one. */
  readonly places: { readonly starts: Uint32Array; readonly ends: Uint32Array } | undefined;
}

/** JSON, and the strings of most languages: `\"`, `\n`, `\u0026`, `\x26`. */
const backslashes = /\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|[^\r\n])/gi;
const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };
function decodeBackslash(escaped: string): string {
  if (escaped.length > 2) return String.fromCharCode(Number.parseInt(escaped.slice(2), 16));
  const [, character = ''] = escaped;
  return letters[character] ?? character;
}

/** One character in a URL: `%26`, `%c3%a4`. */
const percents = /%(?:[0-7][0-9a-f]|[c-f][0-9a-f](?:%[89ab][0-9a-f]){1,3})/gi;
function decodePercent(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

/** HTML and XML, in the error page of a server: `&amp;`, `&#38;`, `&#x26;`. */
const entities = /&(?:#\d{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);/gi;
const named: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};
function decodeEntity(escaped: string): string {
  const [, hex, digits] = /^&#(x?)(.*);$/i.exec(escaped) ?? [];
  if (digits === undefined) return named[escaped.toLowerCase()] ?? escaped;
  const code = Number.parseInt(digits, hex ? 16 : 10);
  return code <= 0x10ffff ? String.fromCodePoint(code) : escaped;
}

/** A string in a string: JSON in a line of a log that is JSON. */
const deepest = 2;

/** The text itself first, then as it is without escapes of each kind, where it has any. */
export function viewsOf(text: string): readonly View[] {
  const whole: View = { text, places: undefined };
  const views = [whole];
  for (const [pattern, decode] of [
    [backslashes, decodeBackslash],
    [percents, decodePercent],
    [entities, decodeEntity],
  ] as const) {
    let view = whole;
    for (let depth = 1; depth <= deepest && view.text.search(pattern) >= 0; depth++) {
      view = unescaped(view, pattern, decode);
      views.push(view);
    }
  }
  return views;
}

function unescaped({ text, places }: View, pattern: RegExp, decode: (escaped: string) => string): View {
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let length = 0;
  /** Each of `count` characters stands for the given part of the text. */
  const add = (count: number, from: number, to: number) => {
    const start = places?.starts[from] ?? from;
    const end = places?.ends[to - 1] ?? to;
    for (let i = 0; i < count; i++, length++) {
      starts[length] = start;
      ends[length] = end;
    }
  };
  let done = 0;
  const decoded = text.replace(pattern, (escaped, at: number) => {
    for (; done < at; done++) add(1, done, done + 1);
    done = at + escaped.length;
    const characters = decode(escaped);
    add(characters.length, at, done);
    return characters;
  });
  for (; done < text.length; done++) add(1, done, done + 1);
  return { text: decoded, places: { starts, ends } };
}
