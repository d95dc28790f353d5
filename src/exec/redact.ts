import { stripVTControlCharacters } from 'node:util';

/** The most of a plugin's stderr that an error holds, in bytes. */
const tailBytes = 2048;

const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, '[redacted PEM]'],
  // The end of a block whose beginning was cut off.
  [/^[\s\S]*?-----END [^-]*-----/, '[redacted PEM]'],
  [/\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}/g, '[redacted JWT]'],
  [/\b((?:bearer|basic)(?:\s+(?:bearer|basic))*)\s+[^\s"',;]+/gi, '$1 [redacted]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1[redacted]@'],
  [
    /\b((?:access_?|refresh_?|id_?)?token|password|passwd|secret|api_?key)(["']?\s*[:=]\s*["']?)[^\s"',;&]+/gi,
    '$1$2[redacted]',
  ],
];

/**
 * What may be shown of a plugin's stderr: its last 2 KiB, without anything that looks like a credential, and with control
 * characters escaped so that it cannot write to a terminal. `secrets` are removed wherever they stand.
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  // Colours could hide a word from the patterns.
  let shown = stripVTControlCharacters(text);
  for (const secret of secrets) if (secret.length > 0) shown = shown.replaceAll(secret, '[redacted]');
  for (const [pattern, replacement] of patterns) shown = shown.replace(pattern, replacement);
  shown = shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escapeControl);
  return lastBytes(shown.trim());
}

/** The long words of a plugin's stdout: each of them may be a secret that it wrote on stderr too. */
export function possibleSecrets(stdout: string, leastLength: number): readonly string[] {
  const words = (stdout.match(/[^\s"'{}[\],:]+/g) ?? []).filter((word) => word.length >= leastLength);
  return [...new Set(words)].filter((word) => !word.startsWith('client.authentication.')).slice(0, 1_000);
}

function escapeControl(character: string): string {
  if (character === '\n' || character === '\t') return character;
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
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
