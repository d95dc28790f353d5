/** Service accounts whose images are pulled (KEP-4412), and the tokens that providers get for them. */
import type { KubeConfig, RequestContext, ResponseContext } from '@kubernetes/client-node';
import { z } from 'zod';
import { schemaProblems } from '../access/schema-problems.ts';
import { ConfigurationError, CredentialsError, checkArgument } from '../errors/index.ts';
import { parseRfc3339 } from '../exec/credential.ts';
import { abortable } from '../util/abortable.ts';
import { codeFieldOf, isFunction, isObject } from '../util/guards.ts';
import { ExpiringMap, SingleFlight } from './cache.ts';
import type { TokenAttributes } from './config.ts';

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
 * Gives a token of a service account. `signal` is aborted when no caller waits any longer: after the option `pluginTimeoutMs`, or at
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

interface TokenOptions {
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
      if (late.signal.aborted) throw new TokenFault(`${what} was minted within ${timeoutMs} ms`);
      throw new TokenFault(`${what} could be minted${mintFailure(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** What a message may say about an error of the caller's code: our own words, a status, or an operating system's code. */
function mintFailure(error: unknown): string {
  if (error instanceof CredentialsError) return `: ${error.message}`;
  const status: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  if (status === 403) return ': the API server answered 403, RBAC must allow "create" on serviceaccounts/token';
  if (status === 404) return ': the API server answered 404, the service account does not exist';
  if (status === 409) return ': the API server answered 409, the service account has another uid by now';
  if (typeof status === 'number' && status >= 400 && status < 600) return `: the API server answered ${status}`;
  const { code } = codeFieldOf(error);
  return code === undefined ? '' : ` (${code})`;
}

/** The service account whose images are pulled, for providers with `tokenAttributes` (KEP-4412). */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

const text = z.string({ error: 'must be text' }).min(1, { error: 'must not be empty' });
const schema = z.object(
  {
    namespace: text,
    name: text,
    uid: text,
    annotations: z.record(z.string(), z.string({ error: 'must be text' }), { error: 'must be an object' }).optional(),
  },
  { error: 'must be an object with namespace, name and uid' },
);

/** Checks a caller's argument, whatever its type says: with a field missing, accounts would share credentials. */
export function parseServiceAccount(value: unknown): ServiceAccount {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const hint =
    typeof value === 'object' && value !== null && 'metadata' in value
      ? ': of a V1ServiceAccount give { namespace, name, uid, annotations } of its metadata'
      : '';
  const problems = schemaProblems(parsed.error).map(({ path, message }) => ({
    path: path === '' ? 'serviceAccount' : `serviceAccount.${path}`,
    message: `${message}${hint}`,
  }));
  throw new ConfigurationError('OPTION_INVALID', 'options', problems);
}

/** @internal The annotations that a provider asks for, sorted, or the required one that is missing. */
export function chosenAnnotations(
  { annotations = {} }: ServiceAccount,
  attributes: TokenAttributes,
): readonly (readonly [string, string])[] | { readonly missing: string } {
  const { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: others } = attributes;
  const missing = required.find((key) => !Object.hasOwn(annotations, key));
  if (missing !== undefined) return { missing };
  return [...required, ...others]
    .filter((key) => Object.hasOwn(annotations, key))
    .toSorted()
    .map((key) => [key, annotations[key] ?? '']);
}

/**
 * A value for the option `mintToken`: asks a cluster's API server for a token of the service account (TokenRequest), as the kubelet
 * does. Refuses a token of another account that has the same name. Takes any client-node `KubeConfig`, a `RestConfig` too; its user
 * needs the verb "create" on serviceaccounts/token.
 *
 * @example
 * const config = new KubeConfig();
 * config.loadFromCluster();
 * ImageCredentialProviders.fromConfigFile(path, { binDir, mintToken: mintTokenFrom(config) });
 */
export function mintTokenFrom(config: KubeConfig): MintToken {
  const isKubeConfig = (value: unknown) => isObject(value) && isFunction(Reflect.get(value, 'makeApiClient'));
  checkArgument('mintTokenFrom', 'config', config, isKubeConfig, 'a KubeConfig');
  return async ({ serviceAccount: { namespace, name, uid }, audience }, { signal }) => {
    // Loaded only when a token is minted.
    const { CoreV1Api, Observable } = await import('@kubernetes/client-node');
    const body = { metadata: { namespace, name, uid }, spec: { audiences: [audience] } };
    const pre = (context: RequestContext) => {
      context.setSignal(signal);
      return new Observable(Promise.resolve(context));
    };
    const post = (context: ResponseContext) => new Observable(Promise.resolve(context));
    const { status } = await config
      .makeApiClient(CoreV1Api)
      .createNamespacedServiceAccountToken(
        { namespace, name, body },
        { middleware: [{ pre, post }], middlewareMergeStrategy: 'append' },
      );
    return { token: status?.token ?? '', expirationTimestamp: status?.expirationTimestamp };
  };
}
