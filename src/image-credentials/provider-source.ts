/**
 * One provider: which images it is for, the cached answers of its plugin, and the runs that callers share.
 * This module must not know of other providers.
 */
import { createHash } from 'node:crypto';
import { PluginError } from '../errors/index.ts';
import type { Plugin } from '../exec/plugin-call.ts';
import { failure, stoppedReason } from '../exec/plugin-outcome.ts';
import { ExpiringMap, SingleFlight } from './cache.ts';
import type { ImageProvider, TokenAttributes } from './config.ts';
import { type ImagePluginOptions, runImagePlugin } from './image-plugin.ts';
import { createMatcher, type ImageUrl, Keyring, registryOf } from './keyring.ts';
import { type CacheKeyType, cacheKeyTypes, type ImageRequest } from './protocol.ts';
import {
  chosenAnnotations,
  type ServiceAccount,
  type ServiceAccountTokens,
  TokenFault,
} from './service-account-tokens.ts';

interface ProviderSourceOptions extends ImagePluginOptions {
  readonly tokens: ServiceAccountTokens;
  readonly clock: () => number;
}

/** Why a provider that matches an image was not asked. */
interface Skipped {
  readonly skipped: string;
}

export class ProviderSource {
  readonly provider: ImageProvider;
  readonly #plugin: Plugin;
  readonly #settings: ProviderSourceOptions;
  readonly #matchers: readonly ((image: ImageUrl) => boolean)[];
  readonly #cache: ExpiringMap<Keyring>;
  readonly #runs: SingleFlight<Keyring>;

  constructor(provider: ImageProvider, path: string, settings: ProviderSourceOptions) {
    this.provider = provider;
    const origin = `image credential provider ${provider.name}`;
    this.#plugin = { provider: provider.name, origin, exec: { command: path } };
    this.#settings = settings;
    this.#matchers = provider.matchImages.map(createMatcher);
    this.#cache = new ExpiringMap(settings.clock);
    this.#runs = new SingleFlight(settings.clock, (error, leftMs) =>
      error instanceof PluginError ? error.heldBack(leftMs) : error,
    );
  }

  matches(image: ImageUrl): boolean {
    return this.#matchers.some((matcher) => matcher(image));
  }

  /** The plugin's answer for an image. Rejects with a `PluginError`. */
  async get(image: string, serviceAccount: ServiceAccount | undefined): Promise<Keyring | Skipped> {
    if (this.#settings.signal.aborted) throw failure(this.#plugin, 'PLUGIN_STOPPED', stoppedReason);
    const account = await this.#account(image, serviceAccount);
    if ('skipped' in account) return account;
    // KEP-2133: the image's own entry, then its registry's, then the provider's.
    for (const type of cacheKeyTypes) {
      const cached = this.#cache.get(cacheKey(type, image, account.key));
      if (cached) return cached;
    }
    return this.#runs.run(JSON.stringify([image, account.runKey]), () => this.#run(image, account));
  }

  /** Forgets what the plugin has answered. */
  clear(): void {
    this.#cache.clear();
  }

  async #run(image: string, { key, request }: Account): Promise<Keyring> {
    const { warnings, signal } = this.#settings;
    const subject = { name: `${this.provider.name} ${image}`, fields: { provider: this.provider.name, image } };
    try {
      const response = await runImagePlugin(this.#plugin, this.provider, { image, ...request }, this.#settings);
      const token = request.serviceAccountToken;
      const echoed = token !== undefined && [...response.auth.values()].some(({ password }) => password === token);
      // It would be cached for longer than it is valid.
      if (echoed && this.provider.tokenAttributes?.cacheType !== 'Token') {
        const reason = "answered with the service account's token as a password: that needs cacheType: Token";
        throw failure(this.#plugin, 'ANSWER_TOKEN_ECHOED', reason);
      }
      const keyring = new Keyring(this.provider.name, response.auth);
      const unused = keyring.problems.map((problem) => ({
        key: problem,
        message: `${this.#plugin.origin}: image ${image}: answered with a login that is for no image, because its key ${problem}`,
      }));
      warnings.set(subject, 'image key', unused);
      const { cacheKeyType, cacheDurationMs = this.provider.defaultCacheDurationMs } = response;
      if (!signal.aborted) this.#cache.set(cacheKey(cacheKeyType, image, key), keyring, cacheDurationMs);
      warnings.clear(subject, 'image', `image ${image}: provider ${this.provider.name} answers again`);
      return keyring;
    } catch (error) {
      if (error instanceof PluginError && error.code !== 'PLUGIN_STOPPED') warnings.add(subject, 'image', error);
      throw error;
    }
  }

  /** KEP-4412: it runs before the cache is read, since a cached answer has to be for this account too. */
  async #account(image: string, serviceAccount: ServiceAccount | undefined): Promise<Account | Skipped> {
    const { tokenAttributes } = this.provider;
    if (!tokenAttributes) return noAccount;
    if (!serviceAccount) {
      return tokenAttributes.requireServiceAccount
        ? { skipped: 'it has requireServiceAccount: true, and no serviceAccount was given' }
        : noAccount;
    }
    const chosen = chosenAnnotations(serviceAccount, tokenAttributes);
    const { namespace, name, uid } = serviceAccount;
    if ('missing' in chosen) {
      return { skipped: `service account ${namespace}/${name} has no annotation ${chosen.missing}, which it requires` };
    }
    const token = await this.#token(image, serviceAccount, tokenAttributes);
    const runKey = JSON.stringify([namespace, name, uid, chosen]);
    const digest = createHash('sha256').update(token).digest('hex');
    return {
      key: tokenAttributes.cacheType === 'Token' ? JSON.stringify([runKey, digest]) : runKey,
      // Without the token: a run that fails with one token fails with the next too, and needs its cooldown.
      runKey,
      request: { serviceAccountToken: token, serviceAccountAnnotations: Object.fromEntries(chosen) },
    };
  }

  async #token(
    image: string,
    serviceAccount: ServiceAccount,
    { serviceAccountTokenAudience: audience }: TokenAttributes,
  ): Promise<string> {
    try {
      return await this.#settings.tokens.get({ serviceAccount, audience });
    } catch (fault) {
      if (!(fault instanceof TokenFault)) throw fault;
      const { reason, retryAfterMs } = fault;
      if (this.#settings.signal.aborted) throw failure(this.#plugin, 'PLUGIN_STOPPED', stoppedReason);
      const failed = failure(this.#plugin, 'SERVICE_ACCOUNT_FAILED', `image ${image}: ${reason}`);
      throw retryAfterMs === undefined ? failed : failed.heldBack(retryAfterMs);
    }
  }
}

/** A registry may be asked for like an image. An answer with the type `Image` for it is not valid for its images. */
function cacheKey(type: CacheKeyType, image: string, account: string): string {
  const scope = { Image: image, Registry: registryOf(image), Global: '' }[type];
  return JSON.stringify([type, scope, account]);
}

/** What a request knows of a service account. */
interface Account {
  /** Distinguishes cached answers. */
  readonly key: string;
  /** Distinguishes runs. */
  readonly runKey: string;
  readonly request: Omit<ImageRequest, 'image'>;
}
const noAccount: Account = { key: '', runKey: '', request: {} };
