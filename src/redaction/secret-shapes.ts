/**
 * Recognises secrets in plain text: tokens of known formats, `name=value`, headers, logins. Ordinary diagnoses have to stay readable.
 * Every pattern takes linear time.
 */

/** Tokens with a recognisable format. */
const marked: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, '[redacted PEM]'],
  // The end of a block whose beginning was cut off.
  [/^[\s\S]*?-----END [^-]*-----/, '[redacted PEM]'],
  // The same in base64, as kubeconfigs have it.
  [/\bLS0tLS1CRUdJTi[\w+/=-]*/g, '[redacted PEM]'],
  [/\beyJ[\w-]{8,}(?:\.[\w-]*){0,4}/g, '[redacted JWT]'],
  [/\bk8s-aws-v1\.[\w-]+/g, '[redacted]'],
  [/\bya29\.[\w.-]+/g, '[redacted]'],
  [/\b1\/\/0[\w-]{20,}/g, '[redacted]'],
  [/\bAIza[\w-]{35}/g, '[redacted]'],
  [
    /\b(?:gh[opsur]_|github_pat_|glpat-|npm_|dckr_pat_|xox[abeoprs]-|hv[bs]\.|sk_live_|AGE-SECRET-KEY-)[\w.-]{10,}/g,
    '[redacted]',
  ],
  [/\bsha256~[\w-]{20,}/g, '[redacted]'],
  // Kubernetes' bootstrap tokens.
  [/(?<![\w.-])[a-z0-9]{6}\.(?=[a-z]*\d)[a-z0-9]{16}(?![\w.-])/g, '[redacted]'],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/?#"'<>@]*@)+/gi, '$1[redacted]@'],
  // A password with a slash in it, but not a port.
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#"'<>@:]*:(?!\d+[/?#])[^\s"'<>@]{0,200}@/gi, '$1[redacted]@'],
  [/([?&](?:code|sig|X-Amz-[A-Za-z-]*)=)[^\s&"'<>]+/gi, '$1[redacted]'],
  [/((?:^|\s)(?:-u\s{0,4}|--(?:proxy-)?user[\s=]{1,4})["']?[^\s:="']{1,100}:)[^\s"']+/gm, '$1[redacted]'],
];

/** The end of a name whose value is a secret: `client_secret`, `AWS_SESSION_TOKEN`, `clientSecret`, `x-api-key`. */
const password = /(?:passwords?|passwd|passphrase|passcode|pwd|[_.-]pass|sshpass|^pass)$/i;
const token =
  /(?:token|jwt|secrets?|assertion|credentials?|signature|(?:^|[_-])pat|key[_.-]?data|(?:api|access|secret|private|account|shared|signing|encryption|master|client|session|subscription|ssh)[_.-]?key|[a-z]ApiKey)$/i;
/** Names whose value is a secret only if it looks like one. */
const doubtful = /(?:_KEY|^key|auth|cookies?|session|_CREDS?|connection[_-]?string)$/i;
const notSecret = /^(?:OLD)?PWD$|(?:next|page|continue|cancel|csrf_?)[_-]?token$/i;

/** Whether the value of a variable or field of this name is a secret. */
export function isSecretName(name: string): boolean {
  return (password.test(name) || token.test(name)) && !notSecret.test(name);
}

/** Whether the value of a variable or of a flag is a secret. A path under such a name is that of a file: `GOOGLE_APPLICATION_CREDENTIALS`. */
export function isSecretVariable(name: string, value: string): boolean {
  if (isPath(value) || isSwitch(value) || isReference(name, value)) return false;
  return isSecretName(name) || (doubtful.test(name) && !isWordy(value));
}

/** `USE_TOKEN=true` */
const isSwitch = (value: string) => /^(?:true|false|yes|no|on|off|[01])$/i.test(value);

/** `--token $(TOKEN)`, and the name of an object, as Kubernetes' own logs have it: `--secret fleet/spoke-1`. */
function isReference(name: string, value: string): boolean {
  if (/^\$\(\w+\)$/.test(value)) return true;
  return /^-{0,2}secrets?$/i.test(name) && /^[\da-z._-]+(?:\/[\da-z._-]+)+$/.test(value) && isWordy(value);
}

const isPath = (text: string) => /^(?:~|\.{1,2})?\/[\w./-]*$/.test(text) && isWordy(text);

/** Whether a word is the code of an error, as `token: ` may be followed by: `AADSTS7000215`, `ORA-01017`, `E0000011`, `invalid_client`. */
export function isErrorCode(word: string): boolean {
  return /^(?:[A-Z]{1,20}\d?[A-Z_-]{0,40}\d{0,8}|(?:invalid|unauthorized|unsupported|access|consent|login|interaction)_[a-z_]{3,30})\W*$/.test(
    word,
  );
}

/** Whether it may be a word of a sentence. A password of letters only is one too: it is hidden only if it cannot be a sentence. */
const isPlainWord = (word: string) => /^[A-Za-z]?[a-z]*\W*$/.test(word);

/** Made of words and small numbers, as names, paths and messages are, not of chance as tokens: `WorkloadIdentityCredential`, `a/spoke-1`. */
export function isWordy(text: string): boolean {
  return text.split(/[^A-Za-z0-9]+/).every((part) => {
    if (part.length <= 4) return true;
    const pieces = part.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? [];
    return pieces.length <= 1 + part.length / 4 && pieces.every((piece) => !/^\d{5}/.test(piece));
  });
}

/** Replaces what looks like a secret, in a text without terminal control characters. */
export function hideShapes(text: string): string {
  let shown = text;
  for (const [pattern, replacement] of marked) shown = shown.replace(pattern, replacement);
  shown = shown.replace(headers, hideHeader);
  shown = shown.replace(schemes, (whole, scheme: string, value: string) =>
    isPlainWord(value) ||
    isErrorCode(value) ||
    /^(?:[a-z_]+=[^=]|(?:realm|error|scope|service|charset)=)/i.test(value) ||
    value.startsWith('[redacted')
      ? whole
      : `${scheme} [redacted]`,
  );
  shown = shown.replace(flags, (whole, flag: string, gap: string, value: string) =>
    isSecretName(flag) && !isPlainWord(value) && !isReference(flag, value) && !value.startsWith('[redacted')
      ? `${flag}${gap}[redacted]`
      : whole,
  );
  return hideAssignments(shown).replace(opaque, (word) => (isOpaque(word) ? '[redacted]' : word));
}

/** What `hideShapes` takes out of a text: the secrets in an argument or a variable, which may be printed without what shows them. */
export function secretsIn(text: string): readonly string[] {
  if (text.includes('[redacted')) return [];
  const [first = '', ...others] = hideShapes(text).split(/\[redacted(?: [A-Z]+)?\]/);
  const found: string[] = [];
  let at = first.length;
  for (const [index, next] of others.entries()) {
    const isLast = index === others.length - 1;
    const end = isLast ? text.length - next.length : text.indexOf(next, at);
    if (end < at) break;
    found.push(text.slice(at, end));
    at = end + next.length;
  }
  return found.filter((secret) => secret !== '');
}

/** Headers with credentials, in any form in which a program prints them. */
const headers = /\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s{0,4}[:=]\s{0,4}[["']{0,3})([^\r\n]+)/gi;
function hideHeader(whole: string, name: string, between: string, line: string): string {
  if (/cookie/i.test(name)) {
    const [value = ''] = /^[^"'\]]*/.exec(line) ?? [];
    return value.includes('=') ? `${name}${between}[redacted]${line.slice(value.length)}` : whole;
  }
  // These have parameters up to the end of the line.
  const parameters = /^(?:digest|aws4-hmac-sha256|oauth)\s/i.exec(line);
  if (parameters) return `${name}${between}${parameters[0]}[redacted]`;
  const [word = ''] = /^[^\s"',;\]]*/.exec(line) ?? [];
  const scheme = /^(?:bearer|basic|negotiate|ntlm|token|sharedkey|googlelogin|apikey)\s+(?=\S)/i.exec(line);
  if (scheme)
    return `${name}${between}${scheme[0]}${line.slice(scheme[0].length).replace(/^[^\s"',;\]]+/, '[redacted]')}`;
  return isWordy(word) ? whole : `${name}${between}[redacted]${line.slice(word.length)}`;
}

/** What follows the name of a scheme, in an `Authorization` header or a message. */
const schemes = /\b((?:bearer|basic|negotiate|ntlm)(?:[\s:]{1,4}(?:bearer|basic|negotiate))*)\s+([^\s"',;]+)/gi;
/** `--client-secret value` */
const flags = /(?<![\w-])(--?[a-z][\w-]{2,60})(\s{1,4}["']?)([^\s"'=:]+)/gi;

/** A name and what joins it to its value: `name=`, `name: `, `"name": `, `name:`. */
const assignment = /(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]*)(\\?["'`])?(\s{0,4}(?:[:=]=?>?)[^\S\n]{0,4})/g;
/** The characters of a value, and of a line, that are examined. */
const glance = 256;

/** Hides the values of secret names. The value of another name is searched as well: it may contain names too. */
function hideAssignments(text: string): string {
  let shown = '';
  let done = 0;
  for (const match of text.matchAll(assignment)) {
    const [whole, name = '', closing, between = ''] = match;
    const start = match.index + whole.length;
    if (match.index < done || !(isSecretName(name) || doubtful.test(name))) continue;
    if (text.startsWith('[redacted', start)) continue;
    const seen = valueAt(text.slice(start, start + glance));
    const inQuotes = closing !== undefined && /["'`]/.test(text[match.index - 1] ?? '');
    if (isPath(seen.value)) continue;
    if (!isAssigned({ name, value: seen.value, between, inQuotes, isAlone: isAlone(text, match.index, start) }))
      continue;
    const { opening, value } = seen.value.length < glance - 8 ? seen : valueAt(text.slice(start));
    shown += `${text.slice(done, start)}${opening}[redacted]`;
    done = start + opening.length + value.length;
  }
  return shown + text.slice(done);
}

/** The value that a text begins with: in quotes or brackets, or up to the next space. */
function valueAt(text: string): { readonly value: string; readonly opening: string } {
  const [opening = ''] = /^(?:\[?\\?["'`]|\[)/.exec(text) ?? [];
  const rest = text.slice(opening.length);
  if (opening !== '') {
    const end = opening === '[' ? rest.search(/[\]\n]/) : closingQuote(rest, opening.replace('[', ''));
    return { opening, value: end < 0 ? rest : rest.slice(0, end) };
  }
  const [bare = ''] = /^[^\s"'`]*/.exec(rest) ?? [];
  // It ends where the next name begins, and before the punctuation of a sentence.
  const next = /[;&,](?=[\w.-]{1,60}[=:])/.exec(bare);
  return { opening, value: next ? bare.slice(0, next.index) : bare.replace(/[\]},.;:]{1,20}$/, '') };
}

function closingQuote(rest: string, quote: string): number {
  for (let at = rest.indexOf(quote); at >= 0; at = rest.indexOf(quote, at + 1)) {
    if (quote.length > 1 || rest[at - 1] !== '\\') return at;
  }
  return -1;
}

interface Assigned {
  readonly name: string;
  readonly value: string;
  readonly between: string;
  /** The name is in quotes. */
  readonly inQuotes: boolean;
  /** The line has only the name and its value. */
  readonly isAlone: boolean;
}

/** Whether a secret follows the name, rather than a description of it. */
function isAssigned({ name, value, between, inQuotes, isAlone }: Assigned): boolean {
  if (value === '' || value.includes('://[redacted]@')) return false;
  if (!isSecretName(name)) return value.length >= 12 && !isWordy(value);
  if (/^\W*(?:nil|null|none)?\W*$/i.test(value) || isSwitch(value) || isReference(name, value)) return false;
  if (between.includes('=') || inQuotes || !/\s$/.test(between)) return true;
  // After a colon there may be a reason.
  if (isErrorCode(value)) return false;
  if (isAlone) return true;
  return password.test(name) ? !isPlainWord(value) : value.length >= 8 && !isWordy(value);
}

/** Whether a line has only the name that begins at `start`, and one word or quoted text after it. */
function isAlone(text: string, start: number, value: number): boolean {
  const before = text.slice(Math.max(0, start - glance), start).split('\n');
  if (!/^[\s{"'-]*$/.test(before.at(-1) ?? '') || (before.length === 1 && start > glance)) return false;
  const [line = ''] = text.slice(value, value + glance).split('\n', 1);
  return /^(?:(["'`]).*\1|[^\s"'`]+)[}\]\s]*$/.test(line);
}

/** A long word of letters and digits in no order, with what belongs to it. */
const opaque = /[\w+=~-]{24,}/g;
function isOpaque(word: string): boolean {
  return word.split(/[^A-Za-z0-9]+/).some((part) => {
    if (part.length < 20 || !/[A-Z]/.test(part) || !/[a-z]/.test(part) || !/\d/.test(part)) return false;
    const pieces = part.match(/[A-Z]+|[a-z]+|\d+/g) ?? [];
    return pieces.length > part.length * 0.35;
  });
}
