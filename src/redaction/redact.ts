/** What may be shown of a text that a plugin wrote. */
import { stripVTControlCharacters } from 'node:util';
import { printableLines } from '../printable.ts';
import { hideSecrets, pieceLength } from './known-secrets.ts';
import { hideShapes } from './secret-shapes.ts';

/** The most of a plugin's stderr that an error holds, in bytes. */
const tailBytes = 2048;
/** The most that is looked at, in characters; what is shown is the end. */
const longest = 65_536;

/**
 * What may be shown of a plugin's stderr: its last 2 KiB, without anything that looks like a credential, and with control
 * characters escaped so that it cannot write to a terminal. `secrets` are removed wherever they stand, in part too. Where
 * the text is the end of a longer one (`isCut`) its first word is left off: it may be the end of a secret.
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
 * What may be shown of a text that a server or a proxy wrote: its first `length` characters. It may say back what it was sent, so
 * `secrets` are those of the credential. Where the text is the beginning of a longer one (`isCut`) its end is left off: it may be the
 * beginning of a secret.
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
  // A character that was cut in two shows as U+FFFD: leave it off.
  return `…${bytes
    .subarray(bytes.length - tailBytes + 3)
    .toString()
    .replace(/^\uFFFD+/, '')}`;
}
