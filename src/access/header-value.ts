/**
 * A text as the value of a header: its UTF-8 bytes, each as one character, which is how Node and undici write headers
 * and what client-go sends. `undefined` where it holds a line break or another control character.
 */
export function headerValue(text: string): string | undefined {
  return /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : undefined;
}

/** The text that `headerValue` was given. */
export function headerText(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
