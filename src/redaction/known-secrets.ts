/** Secrets that are known when a plugin's stderr is shown: of its configuration, its environment and its answer. */
import { type View, viewsOf } from './escapes.ts';
import { isSecretName, isWordy, secretsIn } from './secret-shapes.ts';

/** A variable of an environment. */
interface Variable {
  readonly name: string;
  readonly value: string;
}

/** Ends of names whose values are no secrets, and are what a diagnosis is about. */
const ordinaryName =
  /(?:^|_)(?:ACCOUNT|AUDIENCE|CLUSTER|DIR|ENV|ENVIRONMENT|FILE|FOLDER|FORMAT|HOME|HOST|ID|ISSUER|LANG|LEVEL|LOCATION|METHOD|MODE|NAME|NAMESPACE|PATH|PORT|PROFILE|PROJECT|REALM|REGION|RESOURCE|ROLE|SCOPE|SERVER|SUBJECT|TENANT|TIMEOUT|TYPE|USER|USERNAME|VERSION|ZONE|CONFIG|KUBECONFIG|ARN)$/i;

/**
 * The values of variables that must not be shown: those of a secret's name, and of the configured ones all but what is
 * ordinary by its name or by its form (a short word, a number, a path, an address without a login). The password of a login in an
 * address is a secret by itself too, and so is every other one in a configured value.
 */
export function secretsOfEnvironment(
  configured: readonly Variable[],
  environment: Readonly<Record<string, string | undefined>> = {},
): readonly string[] {
  const own = configured.flatMap(({ name, value }) => [
    ...(isSecretName(name) || !isOrdinary(name, value) ? [value] : []),
    ...secretsInside(value),
  ]);
  const inherited = Object.entries(environment).flatMap(([name, value = '']) => [
    ...(isSecretName(name) ? [value] : []),
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

function isOrdinary(name: string, value: string): boolean {
  if (value.length < 6 || /^\d{1,8}$/.test(value)) return true;
  if (/^(?:true|false|enabled|disabled|default)$/i.test(value)) return true;
  if (/^(?:~|\.{1,2})?\/[\w./-]*$/.test(value) && isWordy(value)) return true;
  if (/^[a-z][a-z0-9+.-]{1,20}:\/\/[^\s@?#]*$/i.test(value)) return true;
  return ordinaryName.test(name);
}

/**
 * The values of arguments that must not be shown: `--client-secret value`, `--password=value`, `-u name:value`, and what is seen
 * to be a secret in any other argument.
 */
export function secretsOfArguments(args: readonly string[]): readonly string[] {
  return distinct([...args.flatMap(valueOfFlag), ...args.flatMap(secretsInside)]);
}

function valueOfFlag(argument: string, index: number, args: readonly string[]): readonly string[] {
  const [, flag = '', assigned] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument) ?? [];
  const value = assigned ?? args[index + 1] ?? '';
  if (isSecretName(flag)) return assigned === undefined && value.startsWith('-') ? [] : [value];
  if (flag === 'u' || flag === 'user') return [value.replace(/^[^:]*:?/, '')];
  return [];
}

/** What of a plugin's stdout may be a secret, also where it is no valid answer: the plugin may write it on stderr too. */
export function possibleSecrets(stdout: string, leastLength: number): readonly string[] {
  const words = (stdout.match(/[^\s"'{}[\],:]+/g) ?? []).filter(
    (word) => word.length >= leastLength && !isWordy(word) && !/^\d{4}-\d\d-\d\dT/.test(word),
  );
  const fields = [...stdout.matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)];
  const values = fields.flatMap(([, name = '', value = '']) => (isSecretName(name) ? [value] : []));
  return [...new Set([...values, ...words])].slice(0, 1_000);
}

/** A part of a secret is hidden if it has so many characters or more. Shorter secrets are hidden where they are whole. */
export const pieceLength = 15;
/** Secrets that are shorter stand in ordinary words too. */
const shortest = 8;
/** The forms of longer ones would take more time than they are worth. */
const longestWithForms = 65_536;
/** The most of all secrets in all their forms that is looked for, in characters: more would hold the process up. */
const mostCharacters = 512 * 1024;

/**
 * Replaces every secret, whole or in part: a plugin may print one cut off, wrapped, escaped or encoded. The time grows with the
 * length of the text and of the secrets, and not with the product of the two. If there are more secrets than can be looked for,
 * nothing of the text is shown.
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
  const views = viewsOf(text);
  hideWhole(
    views,
    [...forms].filter(({ length }) => length < pieceLength),
    hidden,
  );
  hidePieces(
    views,
    [...forms].filter(({ length }) => length >= pieceLength),
    hidden,
  );
  let shown = '';
  let done = 0;
  for (let at = hidden.indexOf(1); at >= 0; at = hidden.indexOf(1, done)) {
    const end = hidden.indexOf(0, at);
    shown += `${text.slice(done, at)}[redacted]`;
    done = end < 0 ? text.length : end;
  }
  return shown + text.slice(done);
}

/** The same for what is looked at often, and seldom holds a secret: as long as none stands there as it is, it stays as it is. */
export function hideWholeSecrets(text: string, secrets: readonly string[]): string {
  const isSuspect = text.includes('%') || secrets.some((secret) => secret !== '' && text.includes(secret));
  return isSuspect ? hideSecrets(text, secrets) : text;
}

function formsOf(secret: string): readonly string[] {
  if (secret === '') return [];
  if (secret.length < shortest || secret.length > longestWithForms) return [secret];
  const bytes = Buffer.from(secret);
  return [
    secret,
    // In a form a space is a plus; what else is escaped there is unescaped in the text.
    secret.replaceAll(' ', '+'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    ...[0, 1, 2].flatMap((before) => [insideBase64(bytes, before, 'base64'), insideBase64(bytes, before, 'base64url')]),
  ];
}

/** A secret in the base64 of a longer text, such as `name:secret`: the characters that do not depend on what stands around it. */
function insideBase64(bytes: Buffer, before: number, encoding: 'base64' | 'base64url'): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString(encoding);
  return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}

/** Whether a part of a view was an escape in the view before it: else it is looked at there. */
function isOwn({ places }: View, from: number, to: number): boolean {
  return places === undefined || (places.news[to - 1] ?? 0) > from;
}

/** Marks parts of a view in the text itself. Of many parts of one long escape only the first takes time. */
function hider({ places }: View, hidden: Uint8Array): (from: number, to: number) => void {
  let [lastStart, lastEnd] = [0, 0];
  return (from, to) => {
    const start = places?.starts[from] ?? from;
    const end = places?.ends[to - 1] ?? to;
    if (start === lastStart && end === lastEnd) return;
    [lastStart, lastEnd] = [start, end];
    hidden.fill(1, start, end);
  };
}

/** Upper-case letters of ASCII as lower-case ones: the same length, so the same places. */
const folded = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Marks short secrets: those that may be a part of any word where they stand alone. */
function hideWhole(views: readonly View[], secrets: readonly string[], hidden: Uint8Array): void {
  for (let length = 1; length < pieceLength; length++) {
    const known = new Set(secrets.filter((secret) => secret.length === length));
    if (known.size === 0) continue;
    for (const view of views) {
      const { text } = view;
      const hide = hider(view, hidden);
      for (let at = 0; at + length <= text.length; at++) {
        // With what stands beside it: behind an escaped line break a word begins.
        const near = [Math.max(0, at - 1), Math.min(text.length, at + length + 1)] as const;
        if (!isOwn(view, ...near) || !known.has(text.slice(at, at + length))) continue;
        const isInWord = /\w/.test(text[at - 1] ?? '') || /\w/.test(text[at + length] ?? '');
        if (length >= shortest || !isInWord) hide(at, at + length);
      }
    }
  }
}

/** Of a text of so many characters or fewer it is found out first which secrets may be in it: most texts hold none. */
const shortText = 4_096;
/** Every piece of a text holds one of its blocks of this length, which stand side by side. */
const blockLength = Math.ceil(pieceLength / 2);

function likely(secrets: readonly string[], texts: readonly { readonly text: string }[]): readonly string[] {
  if (texts.reduce((sum, { text }) => sum + text.length, 0) > shortText) return secrets;
  const blocks = new Set<string>();
  for (const { text } of texts) {
    for (let at = 0; at + blockLength <= text.length; at += blockLength) blocks.add(text.slice(at, at + blockLength));
  }
  const all = [...blocks];
  return secrets.filter((secret) => all.some((block) => secret.includes(block)));
}

/** Marks what a text and a secret have in common: pieces of one length, each looked up once. A program may change upper and lower case. */
function hidePieces(views: readonly View[], secrets: readonly string[], hidden: Uint8Array): void {
  if (secrets.length === 0) return;
  const pieces = new Map<string, boolean>();
  const inLowerCase = views.map((view) => ({ view, text: folded(view.text) }));
  for (const { view, text } of inLowerCase) {
    for (let at = 0; at + pieceLength <= text.length; at++) {
      if (isOwn(view, at, at + pieceLength)) pieces.set(text.slice(at, at + pieceLength), false);
    }
  }
  for (const secret of likely(secrets.map(folded), inLowerCase)) {
    for (let at = 0; at + pieceLength <= secret.length; at++) {
      const piece = secret.slice(at, at + pieceLength);
      if (pieces.has(piece)) pieces.set(piece, true);
    }
  }
  for (const { view, text } of inLowerCase) {
    const hide = hider(view, hidden);
    for (let at = 0; at + pieceLength <= text.length; at++) {
      if (isOwn(view, at, at + pieceLength) && pieces.get(text.slice(at, at + pieceLength))) hide(at, at + pieceLength);
    }
  }
}
