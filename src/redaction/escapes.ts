/** A text, and the same without its escapes: a program that prints what it was given may have escaped it. */
export interface View {
  readonly text: string;
  /** `undefined` for the first view, which is the text itself. */
  readonly places: Places | undefined;
}

/** By character of a view. */
interface Places {
  /** Where it begins and ends in the text. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** The last character up to this one, itself included, that was an escape in the view before: one more than its place, or 0. */
  readonly news: Uint32Array;
}

/** One way of escaping: what an escape looks like, and what it stands for. */
type Kind = readonly [pattern: RegExp, decode: (escaped: string) => string];

/** A character of several bytes in UTF-8, each of them in the given form. */
const inUtf8 = (first: string, next: string) => `${first}(?:${next}){1,3}`;

/**
 * JSON, and the strings of most languages: `\"`, `\n`, `\u0026`, `\u{26}`, `\x26`, `\46`, bytes as in `\xc3\xa4` or `\303\244`. And
 * a quote as a shell shows it in quotes: `'\''`.
 */
const backslashes = new RegExp(
  [
    String.raw`'\\''`,
    inUtf8(String.raw`\\x[c-fC-F][\da-fA-F]`, String.raw`\\x[89abAB][\da-fA-F]`),
    inUtf8(String.raw`\\3[0-7]{2}`, String.raw`\\2[0-7]{2}`),
    String.raw`\\(?:u[\da-fA-F]{4}|u\{[\da-fA-F]{1,6}\}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|[0-3]?[0-7]{1,2}|[^\r\n])`,
  ].join('|'),
  'g',
);
const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };
function decodeBackslash(escaped: string): string {
  if (escaped === String.raw`'\''`) return "'";
  const [, code, hex, octal] = /^\\(?:u\{?([\da-f]+)\}?|x([\da-f]{2})|([0-7]+))$/i.exec(escaped) ?? [];
  if (code !== undefined) return characterOf(Number.parseInt(code, 16)) ?? escaped;
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
  if (escaped.length > 2) {
    const bytes = escaped.split('\\').slice(1);
    return textOf(
      bytes.map((byte) => (byte.startsWith('x') ? Number.parseInt(byte.slice(1), 16) : Number.parseInt(byte, 8))),
    );
  }
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
  return characterOf(Number.parseInt(digits, hex ? 16 : 10)) ?? escaped;
}

/** Bytes as a dump shows them: `3a26`, `3A 26`, `3a:26`. A whole run is one escape. */
const dumps = /(?<![\da-f])[\da-f]{2}(?:[ :]{0,2}[\da-f]{2}){7,}[\da-f]?/gi;
function decodeDump(escaped: string): string {
  const digits = escaped.replace(/[ :]+/g, '');
  // One that was cut off may begin with half a byte.
  return [digits, digits.slice(1)].map((hex) => Buffer.from(hex, 'hex').toString()).join('\0');
}

function characterOf(code: number): string | undefined {
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** Where bytes are not UTF-8, each is a character. */
function textOf(bytes: readonly number[]): string {
  const text = Buffer.from(bytes).toString();
  return text.includes('\ufffd') ? String.fromCharCode(...bytes) : text;
}

const kinds: readonly Kind[] = [
  [backslashes, decodeBackslash],
  [percents, decodePercent],
  [entities, decodeEntity],
  [dumps, decodeDump],
];

/** How often a text may have been escaped: JSON in JSON in JSON, and HTML in JSON. Each combination costs time, so there is an end. */
const deepest = { inOneWay: 3, inTwoWays: 2 };

interface Chain {
  readonly view: View;
  /** The kind of all its escapes; `undefined` if there are several. */
  readonly kind: Kind | undefined;
}

/** The text itself first, then as it is without escapes of each kind, and of several, where it has any. */
export function viewsOf(text: string): readonly View[] {
  const whole: View = { text, places: undefined };
  const views = [whole];
  const known = new Set([text]);
  let last: readonly Chain[] = kinds.map((kind) => ({ view: whole, kind }));
  for (let depth = 1; depth <= deepest.inOneWay; depth++) {
    last = last.flatMap(({ view, kind: before }) =>
      kinds.flatMap((kind) => {
        const isSame = kind === before;
        const [pattern, decode] = kind;
        if (!isSame && (depth === 1 || depth > deepest.inTwoWays)) return [];
        if (view.text.search(pattern) < 0) return [];
        const next = unescaped(view, pattern, decode);
        if (known.has(next.text)) return [];
        known.add(next.text);
        return [{ view: next, kind: isSame ? kind : undefined }];
      }),
    );
    views.push(...last.map(({ view }) => view));
  }
  return views;
}

function unescaped({ text, places }: View, pattern: RegExp, decode: (escaped: string) => string): View {
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  const news = new Uint32Array(text.length);
  let length = 0;
  let last = 0;
  /** Each of `count` characters stands for the given part of the text. */
  const add = (count: number, from: number, to: number, isNew: boolean) => {
    const start = places?.starts[from] ?? from;
    const end = places?.ends[to - 1] ?? to;
    for (let i = 0; i < count; i++) {
      starts[length] = start;
      ends[length] = end;
      length += 1;
      if (isNew) last = length;
      news[length - 1] = last;
    }
  };
  let done = 0;
  const decoded = text.replace(pattern, (escaped, at: number) => {
    for (; done < at; done++) add(1, done, done + 1, false);
    done = at + escaped.length;
    const characters = decode(escaped);
    add(characters.length, at, done, true);
    return characters;
  });
  for (; done < text.length; done++) add(1, done, done + 1, false);
  return { text: decoded, places: { starts, ends, news } };
}
