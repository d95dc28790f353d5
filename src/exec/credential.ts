/**
 * Credentials, and the rules for a valid one. Plugins are checked with it too: it loads neither zod nor yaml, which are most of
 * a plugin's start.
 */
import { headerValue } from '../access/impersonation.ts';
import type { PluginErrorCode } from '../errors/index.ts';

/** The longest answer that is read, in bytes. */
export const maxAnswerBytes = 1024 * 1024;

/** What a plugin returned. Prints as `[credential]`: nothing of it belongs in a log. */
export class Credential {
  readonly #authorization: string | undefined;
  /** Or the user name and password, in base64. */
  readonly #token: string | undefined;
  readonly #scheme: 'Bearer' | 'Basic';
  readonly #keyPair: KeyPair | undefined;
  /** Milliseconds since 1970; `undefined` means until the server refuses it. */
  readonly expiresAt: number | undefined;

  /** The token has been checked with `headerValue`. */
  constructor(
    token: string | undefined,
    keyPair: KeyPair | undefined,
    expiresAt: number | undefined,
    scheme: 'Bearer' | 'Basic' = 'Bearer',
  ) {
    this.#token = token;
    this.#scheme = scheme;
    this.#authorization = token === undefined ? undefined : headerValue(`${scheme} ${token}`);
    this.#keyPair = keyPair;
    this.expiresAt = expiresAt;
  }

  /** The value of the `Authorization` header, if there is a token or password. */
  get authorization(): string | undefined {
    return this.#authorization;
  }

  get token(): string | undefined {
    return this.#scheme === 'Bearer' ? this.#token : undefined;
  }

  /** The client certificate chain and its key, PEM. */
  get keyPair(): KeyPair | undefined {
    return this.#keyPair;
  }

  /** Every text that must never be printed. */
  get secrets(): readonly string[] {
    return [this.#token, this.#keyPair?.key].filter((secret) => secret !== undefined);
  }

  toJSON(): string {
    return '[credential]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[credential]';
  }
}

/** Of two credentials: a token and a key each. */
const maxSecrets = 4;

/** The secrets of the last credentials, the newest first. */
export function secretsWith({ secrets }: Credential, before: readonly string[]): readonly string[] {
  return [...secrets, ...before].slice(0, maxSecrets);
}

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly startsAt: number;
  readonly endsAt: number;
  /** A digest of both: equal if they are equal, and no secret. */
  readonly identity: string;
}

/** The most frequent reason for an answer that cannot be read. */
export const logsElsewhere = ': stdout is for the answer alone, logs belong on stderr';

/** Why an answer is not a credential. */
export class AnswerFault {
  readonly code: PluginErrorCode;
  readonly reason: string;
  constructor(code: PluginErrorCode, reason: string) {
    this.code = code;
    this.reason = reason;
  }
}

/** The `status` of an answer, in the names of the wire. An empty text is as good as none. */
export interface AnswerStatus {
  readonly token?: string | null | undefined;
  readonly clientCertificateData?: string | null | undefined;
  readonly clientKeyData?: string | null | undefined;
  readonly expirationTimestamp?: string | null | undefined;
}

/** The credential that an answer holds. Throws an `AnswerFault`. */
export function readCredential(status: AnswerStatus): Credential {
  const token = status.token || undefined;
  const keyPair = readKeyPair(status.clientCertificateData || undefined, status.clientKeyData || undefined);
  if (token === undefined && keyPair === undefined) {
    throw new AnswerFault('ANSWER_NO_CREDENTIAL', 'answered with neither a token nor a client certificate and key');
  }
  // A header cannot have a line break or the like, which would end a connection that others share.
  if (token !== undefined && headerValue(token) === undefined) {
    throw new AnswerFault(
      'ANSWER_FIELD_INVALID',
      'answered with a token that cannot be sent in a header: it holds a line break or another control character',
    );
  }
  return new Credential(token, keyPair, readExpiry(status.expirationTimestamp));
}

/** Checks that a key fits its certificate; both or none. Throws an `AnswerFault`. */
export function readKeyPair(certificate: string | undefined, key: string | undefined): KeyPair | undefined {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined)
    throw new AnswerFault('ANSWER_HALF_PAIR', 'answered with a client key but no certificate');
  if (key === undefined) throw new AnswerFault('ANSWER_HALF_PAIR', 'answered with a client certificate but no key');
  // Loaded for certificates only: it is a fifth of a plugin's start.
  const { createHash, createPrivateKey, X509Certificate } = process.getBuiltinModule('node:crypto');
  const leaf = tryTo(() => new X509Certificate(certificate));
  const privateKey = tryTo(() => createPrivateKey(key));
  if (!leaf) throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with a client certificate that is not PEM');
  if (!privateKey)
    throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with a client key that is not unencrypted PEM');
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new AnswerFault('ANSWER_KEY_MISMATCH', 'answered with a client key that does not fit its certificate');
  }
  const refusal = opensslRefusal(certificate, key);
  if (refusal) {
    throw new AnswerFault(
      'ANSWER_CERTIFICATE_REFUSED',
      `answered with a client certificate that OpenSSL refuses (${refusal}): issue one that it takes, with an EC key or RSA ` +
        'of 2048 bits or more, and a whole chain',
    );
  }
  const identity = createHash('sha256').update(certificate).update('\0').update(key).digest('base64');
  return { certificate, key, startsAt: leaf.validFromDate.getTime(), endsAt: leaf.validToDate.getTime(), identity };
}

/** Otherwise a weak certificate, or one with a broken chain, would fail each connection. */
function opensslRefusal(certificate: string, key: string): string | undefined {
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  try {
    createSecureContext({ cert: certificate, key });
    return undefined;
  } catch (error) {
    // OpenSSL's reasons are fixed texts, which quote nothing.
    const { reason, code }: { reason?: unknown; code?: unknown } = Object(error);
    return String(reason ?? code ?? 'unknown reason');
  }
}

function readExpiry(timestamp: string | null | undefined): number | undefined {
  if (timestamp === null || timestamp === undefined) return undefined;
  const time = parseRfc3339(timestamp);
  if (time === undefined) {
    throw new AnswerFault('ANSWER_FIELD_INVALID', 'answered with an expirationTimestamp that is not an RFC 3339 time');
  }
  return time === zeroTime ? undefined : time;
}

function tryTo<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

const pattern = /^(\d{4}-\d{2}-\d{2})T(\d{1,2}):(\d{2}:\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** `0001-01-01T00:00:00Z`, Go's zero time: an expiry that means "never". */
const zeroTime = -62_135_596_800_000;

/**
 * Reads an RFC 3339 time with a zone into milliseconds since 1970; `undefined` for anything else.
 * `Date.parse` does not do: it accepts dates without a zone, February 30 and more, which Go refuses.
 */
export function parseRfc3339(text: string): number | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, day = '', hour = '', minuteAndSecond, fraction = '', sign, zoneHour = '', zoneMinute = ''] = match;
  if (Number(zoneHour) > 24 || Number(zoneMinute) > 60) return undefined;
  const time = new Date(`${day}T${hour.padStart(2, '0')}:${minuteAndSecond}.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  // A day that the month does not have, or an hour 24, has rolled over into another day.
  if (Number.isNaN(time.getTime()) || !time.toISOString().startsWith(day)) return undefined;
  const offset = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000;
  return time.getTime() - (sign === '-' ? -offset : offset);
}

/** A time in whole seconds, as Kubernetes writes times: `2030-01-02T03:04:05Z`. */
export function toRfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
