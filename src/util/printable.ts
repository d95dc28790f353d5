/** Beginnings: of texts, as one printable line, and of streams. */

/**
 * Returns one line in which control and format characters, line breaks and lone surrogates are escaped, such as `\u001b`. A text that
 * is longer than `maxBytes` keeps its beginning and its end, which has the advice.
 */
export function printable(text: string, maxBytes: number): string {
  // Only the kept parts are escaped: escapes make a text longer, never shorter.
  const near = text.length <= 2 * maxBytes ? text : `${text.slice(0, maxBytes)}${text.slice(-maxBytes)}`;
  if (/^[ -~]*$/.test(near)) return shortened(near, maxBytes);
  return shortened(near.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, escaped), maxBytes);
}

/** Does the same for each line of a text of any length: keeps line breaks and tabs. */
export function printableLines(text: string): string {
  return text.replace(/[^\n\t]+/g, (line) => printable(line, Number.MAX_SAFE_INTEGER));
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

function shortened(text: string, maxBytes: number): string {
  // No character takes more bytes than this.
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const between = ' […] ';
  const left = maxBytes - Buffer.byteLength(between);
  const end = Math.floor(left / 4);
  // A character that was cut in two appears as U+FFFD.
  const first = bytes.subarray(0, left - end).toString();
  const last = bytes.subarray(bytes.length - end).toString();
  return `${first.replace(/\uFFFD+$/, '')}${between}${last.replace(/^\uFFFD+/, '')}`;
}

/** Reads the first `limit` bytes of a body. Discards the rest, and destroys a stream. */
export async function readBeginning(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) break;
  }
  return Buffer.concat(chunks).subarray(0, limit);
}
