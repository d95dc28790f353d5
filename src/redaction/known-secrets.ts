/** Hides secrets in a text: the known ones of a plugin's configuration, its environment and its answer, and what looks like one. */
import { stripVTControlCharacters } from 'node:util';
import { printableLines } from '../util/printable.ts';
import { hideShapes, isErrorCode, isSecretName, isSecretVariable, isWordy, secretsIn } from './secret-shapes.ts';

/** A variable of an environment. */
interface Variable {
  readonly name: string;
  readonly value: string;
}

/**
 * The values of the variables whose names say that they are secret, and the secrets in the other configured ones: what has the
 * shape of a secret, and the passwords of addresses. Every other value stays readable, since a wrong one is what a diagnosis is about.
 */
export function secretsOfEnvironment(
  configured: readonly Variable[],
  environment: Readonly<Record<string, string | undefined>> = {},
): readonly string[] {
  const own = configured.flatMap(({ name, value }) => [
    ...(isSecretVariable(name, value) ? [value] : []),
    ...secretsInside(value),
  ]);
  const inherited = Object.entries(environment).flatMap(([name, value = '']) => [
    ...(isSecretVariable(name, value) ? [value] : []),
    ...passwordsOfAddresses(value),
  ]);
  return distinct([...own, ...inherited]);
}

/** The passwords in the addresses of a text, as they are written and as they are meant: `HTTPS_PROXY` may have one. */
export function passwordsOfAddresses(text: string): readonly string[] {
  const logins = text.matchAll(/:\/\/[^\s/?#"'<>@:]*:([^\s/?#"'<>]*)@/g);
  return [...logins].flatMap(([, password = '']) => [password, unescaped(password)]);
}

function unescaped(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

/** In one value: a program may print them without what shows here what they are. */
function secretsInside(value: string): readonly string[] {
  return [...secretsIn(value), ...passwordsOfAddresses(value)];
}

const distinct = (secrets: readonly string[]) => [...new Set(secrets)].filter((secret) => secret !== '');

/** The secrets of arguments: `--client-secret value`, `--password=value`, `-u name:value`, and what looks like one in any other. */
export function secretsOfArguments(args: readonly string[]): readonly string[] {
  return distinct([...args.flatMap(valueOfFlag), ...args.flatMap(secretsInside)]);
}

function valueOfFlag(argument: string, index: number, args: readonly string[]): readonly string[] {
  const [, flag = '', assigned] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument) ?? [];
  const value = assigned ?? args[index + 1] ?? '';
  if (isSecretName(flag)) {
    const isNone = assigned === undefined && value.startsWith('-');
    return isNone || !isSecretVariable(flag, value) ? [] : [value];
  }
  if (flag === 'u' || flag === 'user') return [value.replace(/^[^:]*:?/, '')];
  return [];
}

/** Possible secrets in a plugin's stdout, whether or not it is a valid answer: the plugin may write them to stderr too. */
export function possibleSecrets(stdout: string, leastLength: number): readonly string[] {
  const words = (stdout.match(/[^\s"'{}[\],:]+/g) ?? []).filter(
    (word) => word.length >= leastLength && !isWordy(word) && !isErrorCode(word) && !/^\d{4}-\d\d-\d\dT/.test(word),
  );
  const fields = [...stdout.matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)];
  const values = fields.flatMap(([, name = '', value = '']) => (isSecretName(name) ? [value] : []));
  return [...new Set([...values, ...words])].slice(0, 1_000);
}

/** A part of a secret is hidden if it has at least this many characters. Shorter secrets are hidden as a whole. */
const pieceLength = 15;
/** Shorter secrets also occur in ordinary words. */
const shortest = 8;
/** Encoding longer ones would take more time than it is worth. */
const longestWithForms = 65_536;
/** The most of all secrets in all their forms that is looked for, in characters: more would block the event loop. */
const mostCharacters = 512 * 1024;

/**
 * Replaces every secret, whole or in part, as it is and as JSON, URLs and base64 write it. The time grows with the length of the
 * text and of the secrets, and not with the product of the two. If there are more secrets than can be looked for, nothing of the
 * text is shown.
 */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  if (text === '') return text;
  let left = mostCharacters;
  const forms = new Set<string>();
  for (const secret of new Set(secrets)) {
    for (const form of left < secret.length ? [] : formsOf(secret)) {
      if (!forms.has(form)) left -= form.length;
      forms.add(form);
    }
    if (left < secret.length) return '[redacted: there are too many possible secrets to look for]';
  }
  const hidden = new Uint8Array(text.length);
  // A program may change the case.
  const [short, long] = [[...forms].filter(isShort), [...forms].filter((form) => !isShort(form)).map(lowerCased)];
  hideWhole(text, short, hidden);
  hidePieces(lowerCased(text), long, hidden);
  let shown = '';
  let done = 0;
  for (let at = hidden.indexOf(1); at >= 0; at = hidden.indexOf(1, done)) {
    const end = hidden.indexOf(0, at);
    shown += `${text.slice(done, at)}[redacted]`;
    done = end < 0 ? text.length : end;
  }
  return shown + text.slice(done);
}

/** A faster variant for texts that rarely contain a secret: a text without a whole secret stays as it is. */
export function hideWholeSecrets(text: string, secrets: readonly string[]): string {
  const isIn = (secret: string) =>
    secret !== '' && (text.includes(secret) || (text.includes('%') && text.includes(encodedInUrl(secret))));
  return secrets.some(isIn) ? hideSecrets(text, secrets) : text;
}

const isShort = (form: string) => form.length < pieceLength;
/** Of ASCII only: the same length, so the same places. */
const lowerCased = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

function formsOf(secret: string): readonly string[] {
  if (secret.length < shortest || secret.length > longestWithForms) return secret === '' ? [] : [secret];
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const encoded = encodedInUrl(secret);
  return [
    secret,
    json,
    // Go escapes these too, and Python everything beyond ASCII.
    json.replace(/[&<>]/g, escapedInJson),
    json.replace(/[^ -~]/g, escapedInJson),
    encoded,
    encoded.replaceAll('%20', '+'),
    // What a browser does not escape.
    encoded.replace(/%(?:21|27|28|29|2A)/g, decodeURIComponent),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
}

const escapedInJson = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Everything but letters, digits and `-_.~` is escaped, as most programs do it. */
function encodedInUrl(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Marks short secrets. Those that may be a part of any word are marked only as separate words. */
function hideWhole(text: string, secrets: readonly string[], hidden: Uint8Array): void {
  for (let length = 1; length < pieceLength; length++) {
    const known = new Set(secrets.filter((secret) => secret.length === length));
    if (known.size === 0) continue;
    for (let at = 0; at + length <= text.length; at++) {
      if (!known.has(text.slice(at, at + length))) continue;
      // An escape before it is not part of the word: `\nsecret`, `%20secret`.
      const isInWord =
        (/\w/.test(text[at - 1] ?? '') && !/(?:\\[nrt]|%[\da-f]{2})$/i.test(text.slice(Math.max(0, at - 3), at))) ||
        /\w/.test(text[at + length] ?? '');
      if (length >= shortest || !isInWord) hidden.fill(1, at, at + length);
    }
  }
}

/** Marks what a text and a secret have in common: pieces of one length, each looked up once. */
function hidePieces(text: string, secrets: readonly string[], hidden: Uint8Array): void {
  if (secrets.length === 0) return;
  const pieces = new Map<string, boolean>();
  for (let at = 0; at + pieceLength <= text.length; at++) pieces.set(text.slice(at, at + pieceLength), false);
  for (const secret of secrets) {
    for (let at = 0; at + pieceLength <= secret.length; at++) {
      const piece = secret.slice(at, at + pieceLength);
      if (pieces.has(piece)) pieces.set(piece, true);
    }
  }
  for (let at = 0; at + pieceLength <= text.length; at++) {
    if (pieces.get(text.slice(at, at + pieceLength))) hidden.fill(1, at, at + pieceLength);
  }
}

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
  const end = bytes.subarray(bytes.length - tailBytes + 3).toString();
  return `…${end.replace(/^\uFFFD+/, '')}`;
}
