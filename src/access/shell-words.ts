/**
 * Splits a command line into words as a POSIX shell does (single quotes, double quotes, backslash) and expands nothing:
 * `$HOME`, `*`, `;`, `|`, `#`, `~` and `&` are ordinary characters.
 * Returns `{ unclosed }` with the quote if one is not closed.
 */
export function splitWords(text: string): { readonly words: readonly string[] } | { readonly unclosed: string } {
  const words: string[] = [];
  let word: string | undefined;
  for (let i = 0; i < text.length; ) {
    const character = text.charAt(i);
    if (character === ' ' || character === '\t' || character === '\n') {
      if (word !== undefined) words.push(word);
      word = undefined;
      i += 1;
    } else if (character === "'" || character === '"') {
      const quoted = readQuoted(text, i);
      if (!quoted) return { unclosed: character };
      word = (word ?? '') + quoted.value;
      i = quoted.end;
    } else if (character === '\\' && i + 1 < text.length) {
      // A backslash before a line's end joins the two lines.
      if (text[i + 1] !== '\n') word = (word ?? '') + text.charAt(i + 1);
      i += 2;
    } else {
      word = (word ?? '') + character;
      i += 1;
    }
  }
  if (word !== undefined) words.push(word);
  return { words };
}

/**
 * Removes one pair of quotes that encloses the whole text. A shell strips the quotes of `google='/usr/bin/plugin --x'`, the `args` of a
 * Deployment do not: both forms have to mean the same.
 */
export function unwrapQuotes(text: string): string {
  const quoted = readQuoted(text, 0);
  return quoted && quoted.end === text.length ? quoted.value : text;
}

/** The content of the quoted string that opens at `start`, and the index after its closing quote. */
function readQuoted(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  const quote = text[start];
  if (quote === "'") {
    const end = text.indexOf("'", start + 1);
    return end < 0 ? undefined : { value: text.slice(start + 1, end), end: end + 1 };
  }
  if (quote !== '"') return undefined;
  let value = '';
  for (let i = start + 1; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === '"') return { value, end: i + 1 };
    const next = text[i + 1];
    if (character === '\\' && next !== undefined && '$`"\\\n'.includes(next)) {
      if (next !== '\n') value += next;
      i += 1;
    } else {
      value += character;
    }
  }
  return undefined;
}
