/** Redacts the output of plugins, servers and proxies. */
import { stripVTControlCharacters } from 'node:util';
import { printableLines } from '../util/printable.ts';
import { hideSecrets, pieceLength } from './known-secrets.ts';
import { hideShapes } from './secret-shapes.ts';

/** The most bytes of a plugin's stderr in an error. */
const tailBytes = 2048;
/** The most characters that are examined; the end is shown. */
const longest = 65_536;

/**
 * Returns the last 2 KiB of a plugin's stderr, without anything that looks like a credential, and with control characters escaped so
 * that it cannot control a terminal. Removes `secrets` everywhere, also in part. If the text is the end of a longer one (`isCut`), its
 * first word is dropped: it may be the end of a secret.
 */
export function redact(text: string, secrets: readonly string[] = [], { isCut = false } = {}): string {
  const cut = isCut || text.length > longest;
  // Colours could hide a word from the patterns.
  const kept = stripVTControlCharacters(cut ? text.slice(-longest) : text);
  const hidden = hideSecrets(kept, secrets);
  const shown = hideShapes(cut ? hidden.replace(/^\S+/, '…') : hidden);
  return lastBytes(printableLines(shown).trim());
}

/**
 * Returns the first `length` characters of a server's or proxy's text, redacted. It may echo what it was sent, so `secrets` are those
 * of the credential. If the text is the beginning of a longer one (`isCut`), its end is dropped: it may be the beginning of a secret.
 */
export function redactBeginning(
  text: string,
  length: number,
  secrets: readonly string[] = [],
  { isCut = false } = {},
): string {
  const cut = isCut || text.length > longest;
  const hidden = hideSecrets(stripVTControlCharacters(text.slice(0, longest)), secrets);
  const shown = printableLines(hideShapes(cut ? hidden.slice(0, -pieceLength) : hidden)).trim();
  return shown.slice(0, length).trim();
}

function lastBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= tailBytes) return text;
  // A character that was cut in two appears as U+FFFD: drop it.
  return `…${bytes
    .subarray(bytes.length - tailBytes + 3)
    .toString()
    .replace(/^\uFFFD+/, '')}`;
}
