/**
 * Tokens of service accounts. One is minted when it is needed, shared by callers that ask at the same time, and kept until a fifth
 * of its life is left. This module must not know what the tokens are for.
 */
import { z } from 'zod';
import { CredentialsError } from '../errors/index.ts';
import { parseRfc3339 } from '../exec/credential.ts';
import { abortable } from '../util/abortable.ts';
import { codeFieldOf } from '../util/errno.ts';
import { ExpiringMap } from '../util/expiring-map.ts';
import type { ServiceAccount } from './service-account.ts';
import { SingleFlight } from './single-flight.ts';

/** What a token has to be good for. */
export interface TokenRequest {
  readonly serviceAccount: ServiceAccount;
  readonly audience: string;
}

/** A token and its expiry: RFC 3339 or a `Date`, as in the status of a TokenRequest. */
export interface MintedToken {
  readonly token: string;
  readonly expirationTimestamp?: string | Date | undefined;
}

/**
 * Gives a token of a service account. `signal` is aborted when no caller waits any longer: after the option `timeoutMs`, or at
 * `close()`. A token without its expiry is used once.
 */
export type MintToken = (
  request: TokenRequest,
  options: { readonly signal: AbortSignal },
) => Promise<string | MintedToken>;

/** Why there is no token. The message contains no secret. */
export class TokenFault {
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  constructor(reason: string, retryAfterMs?: number) {
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface TokenOptions {
  readonly mintToken: MintToken | undefined;
  readonly timeoutMs: number;
  readonly clock: () => number;
  /** Aborted when the providers are closed. */
  readonly signal: AbortSignal;
}

/** The part of its life for which a token is kept, and the most milliseconds: the kubelet's values. */
const keptShare = 0.8;
const longestKeptMs = 86_400_000;

const mintedSchema = z.union([
  z.string().min(1),
  z.object({
    token: z.string().min(1),
    expirationTimestamp: z
      .union([
        z.date(),
        z.string().transform((text, context) => {
          const time = parseRfc3339(text);
          if (time !== undefined) return new Date(time);
          context.addIssue('is no time');
          return z.NEVER;
        }),
      ])
      .nullish(),
  }),
]);

export class ServiceAccountTokens {
  readonly #options: TokenOptions;
  readonly #kept: ExpiringMap<string>;
  readonly #minting: SingleFlight<string>;

  constructor(options: TokenOptions) {
    this.#options = options;
    this.#kept = new ExpiringMap(options.clock);
    this.#minting = new SingleFlight(options.clock, (fault, leftMs) =>
      fault instanceof TokenFault ? new TokenFault(fault.reason, leftMs) : fault,
    );
  }

  /** A token for an audience. Rejects with a `TokenFault`. */
  async get(request: TokenRequest): Promise<string> {
    const { namespace, name, uid } = request.serviceAccount;
    const key = JSON.stringify([namespace, name, uid, request.audience]);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    return this.#minting.run(key, () => this.#mint(key, request));
  }

  clear(): void {
    this.#kept.clear();
  }

  async #mint(key: string, request: TokenRequest): Promise<string> {
    const { mintToken, clock, signal } = this.#options;
    const { namespace, name } = request.serviceAccount;
    if (!mintToken)
      throw new TokenFault('tokenAttributes need the option mintToken, for example mintTokenFrom(config)');
    const minted = mintedSchema.safeParse(await this.#withinLimit(mintToken, request));
    if (!minted.success) {
      throw new TokenFault(`mintToken gave no { token, expirationTimestamp } for ${namespace}/${name}`);
    }
    const { token, expirationTimestamp } = typeof minted.data === 'string' ? { token: minted.data } : minted.data;
    if (expirationTimestamp && !signal.aborted) {
      this.#kept.set(key, token, Math.min((expirationTimestamp.getTime() - clock()) * keptShare, longestKeptMs));
    }
    return token;
  }

  /** What `mintToken` gives, unless it takes too long or the providers are closed. */
  async #withinLimit(mintToken: MintToken, request: TokenRequest): Promise<unknown> {
    const { timeoutMs, signal: closed } = this.#options;
    const { namespace, name } = request.serviceAccount;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`timed out after ${timeoutMs} ms`)), timeoutMs);
    const signal = AbortSignal.any([closed, late.signal]);
    try {
      return await abortable(() => mintToken(request, { signal }), signal);
    } catch (error) {
      const what = `no token for ${namespace}/${name}`;
      if (closed.aborted) throw new TokenFault(`${what}: the ImageCredentialProviders were closed`);
      if (late.signal.aborted) throw new TokenFault(`${what} was minted within ${timeoutMs} ms`);
      throw new TokenFault(`${what} could be minted${reasonOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** What a message may say about an error of the caller's code: our own words, a status, or an operating system's code. */
function reasonOf(error: unknown): string {
  if (error instanceof CredentialsError) return `: ${error.message}`;
  const status: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  if (status === 403) return ': the API server answered 403, RBAC must allow "create" on serviceaccounts/token';
  if (status === 404) return ': the API server answered 404, the service account does not exist';
  if (status === 409) return ': the API server answered 409, the service account has another uid by now';
  if (typeof status === 'number' && status >= 400 && status < 600) return `: the API server answered ${status}`;
  const { code } = codeFieldOf(error);
  return code === undefined ? '' : ` (${code})`;
}
