/** Secrets that are known when a plugin's stderr is shown: of its configuration, its environment and its answer. */
import type { EnvVar } from '../access/provider.ts';
import { isSecretName, isWordy } from './secret-shapes.ts';

/** Ends of names whose values are no secrets, and are what a diagnosis is about. */
const ordinaryName =
  /(?:^|_)(?:ACCOUNT|AUDIENCE|CLUSTER|DIR|ENV|ENVIRONMENT|FILE|FOLDER|FORMAT|HOME|HOST|ID|ISSUER|LANG|LEVEL|LOCATION|METHOD|MODE|NAME|NAMESPACE|PATH|PORT|PROFILE|PROJECT|REALM|REGION|RESOURCE|ROLE|SCOPE|SERVER|SUBJECT|TENANT|TIMEOUT|TYPE|USER|USERNAME|VERSION|ZONE|CONFIG|KUBECONFIG|ARN)$/i;

/**
 * The values of variables that must not be shown: those of a secret's name, and of the configured ones all but what is
 * ordinary by its name or by its form (a short word, a number, a path, an address without a login).
 */
export function secretsOfEnvironment(
  configured: readonly EnvVar[],
  environment: Readonly<Record<string, string | undefined>> = {},
): readonly string[] {
  const inherited = Object.entries(environment).filter(([name]) => isSecretName(name));
  return [
    ...configured.filter(({ name, value }) => isSecretName(name) || !isOrdinary(name, value)).map(({ value }) => value),
    ...inherited.flatMap(([, value]) => (value === undefined ? [] : [value])),
  ].filter((value) => value !== '');
}

function isOrdinary(name: string, value: string): boolean {
  if (value.length < 6 || /^\d{1,8}$/.test(value)) return true;
  if (/^(?:true|false|enabled|disabled|default)$/i.test(value)) return true;
  if (/^(?:~|\.{1,2})?\/[\w./-]*$/.test(value) && isWordy(value)) return true;
  if (/^[a-z][a-z0-9+.-]{1,20}:\/\/[^\s@?#]*$/i.test(value)) return true;
  return ordinaryName.test(name);
}

/** The values of arguments that must not be shown: `--client-secret value`, `--password=value`, `-u name:value`. */
export function secretsOfArguments(args: readonly string[]): readonly string[] {
  return args.flatMap((argument, index) => {
    const [, flag = '', assigned] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const value = assigned ?? args[index + 1] ?? '';
    if (isSecretName(flag)) return assigned === undefined && value.startsWith('-') ? [] : [value];
    if (flag === 'u' || flag === 'user') return value.split(':').slice(1);
    return [];
  });
}

/** What of a plugin's stdout may be a secret, whatever it is worth as an answer: it may stand on stderr too. */
export function possibleSecrets(stdout: string, leastLength: number): readonly string[] {
  const words = (stdout.match(/[^\s"'{}[\],:]+/g) ?? []).filter(
    (word) => word.length >= leastLength && !isWordy(word) && !/^\d{4}-\d\d-\d\dT/.test(word),
  );
  const fields = [...stdout.matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)];
  const values = fields.flatMap(([, name = '', value = '']) => (isSecretName(name) ? [value] : []));
  return [...new Set([...values, ...words])].slice(0, 1_000);
}

/** A part of a secret that is twice as long as this, less one, is found wherever it stands. */
const pieceLength = 8;
/** Secrets that are shorter stand in ordinary words too. */
const shortest = 8;
/** The forms of longer ones would take more time than they are worth. */
const longestWithForms = 65_536;
/** A piece that stands in more places repeats itself, and is found from its neighbours. */
const mostPlaces = 64;

/** Replaces every secret, whole or in part: a plugin may print one cut off, wrapped, escaped or encoded. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  if (text === '') return text;
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((one, other) => other.length - one.length);
  let shown = text;
  for (const form of forms) {
    shown = form.length < shortest ? replaceWord(shown, form) : shown.replaceAll(form, '[redacted]');
  }
  return hideParts(shown, forms);
}

function formsOf(secret: string): readonly string[] {
  if (secret === '') return [];
  if (secret.length < shortest || secret.length > longestWithForms) return [secret];
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(bytes.toString()),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ];
}

/** Replaces a short secret where it stands alone: it may be a part of any word. */
function replaceWord(text: string, secret: string): string {
  let shown = '';
  let done = 0;
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    if (/\w/.test(text[at - 1] ?? '') || /\w/.test(text[at + secret.length] ?? '')) continue;
    shown += `${text.slice(done, at)}[redacted]`;
    done = at + secret.length;
  }
  return shown + text.slice(done);
}

/** Replaces what a text and a secret have in common from 15 characters on. */
function hideParts(text: string, secrets: readonly string[]): string {
  const long = secrets.filter((secret) => secret.length >= 2 * pieceLength);
  if (long.length === 0) return text;
  const places = new Map<string, number[]>();
  for (let at = 0; at + pieceLength <= text.length; at++) {
    const piece = text.slice(at, at + pieceLength);
    const known = places.get(piece);
    if (!known) places.set(piece, [at]);
    else if (known.length < mostPlaces) known.push(at);
  }
  const hidden = new Uint8Array(text.length);
  for (const secret of long) {
    for (let from = 0; from + pieceLength <= secret.length; from += pieceLength) {
      for (const at of places.get(secret.slice(from, from + pieceLength)) ?? []) {
        if (hidden[at] && hidden[at + pieceLength - 1]) continue;
        let [start, end] = [at, at + pieceLength];
        for (let i = from; start > 0 && i > 0 && text[start - 1] === secret[i - 1]; i--) start -= 1;
        for (let i = from + pieceLength; end < text.length && i < secret.length && text[end] === secret[i]; i++)
          end += 1;
        if (end - start >= 2 * pieceLength - 1) hidden.fill(1, start, end);
      }
    }
  }
  let shown = '';
  for (let at = 0; at < text.length; at++) {
    if (!hidden[at]) shown += text[at];
    else if (!hidden[at - 1]) shown += '[redacted]';
  }
  return shown;
}
