/**
 * Encodes text as a header value: each UTF-8 byte as one character, which is how Node and undici write headers and what client-go
 * sends. `undefined` if it has a line break or another control character.
 */
export function headerValue(text: string): string | undefined {
  return /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : undefined;
}

/** Decodes the result of `headerValue`. */
export function headerText(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
