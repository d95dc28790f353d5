/**
 * One provider: whose images it knows, what its plugin answered before, and the runs that its callers share.
 * It must not know of other providers.
 */
import { createHash } from 'node:crypto';
import { PluginError } from '../errors.ts';
import { backoffMs, Hold } from '../exec/backoff.ts';
import { ImageCache } from './cache.ts';
import type { ImageProvider } from './config.ts';
import type { GoUrl } from './go-url.ts';
import { type ImagePluginOptions, runImagePlugin } from './image-plugin.ts';
import { createMatcher } from './match-image.ts';
import type { ImageRequest, ImageResponse } from './protocol.ts';

/** Whose images are pulled, for providers with `tokenAttributes` (KEP-4412). */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a token has to be good for. */
export interface TokenRequest {
  readonly serviceAccount: ServiceAccount;
  readonly audience: string;
}

export interface ProviderSourceOptions extends ImagePluginOptions {
  readonly mintToken?: ((request: TokenRequest) => Promise<string>) | undefined;
  readonly clock: () => number;
}

export class ProviderSource {
  readonly provider: ImageProvider;
  readonly #path: string;
  readonly #settings: ProviderSourceOptions;
  readonly #matchers: readonly ((image: GoUrl) => boolean)[];
  readonly #cache: ImageCache;
  readonly #running = new Map<string, Promise<ImageResponse>>();
  readonly #failures = new Map<string, { readonly hold: Hold; readonly error: PluginError; readonly count: number }>();

  constructor(provider: ImageProvider, path: string, settings: ProviderSourceOptions) {
    this.provider = provider;
    this.#path = path;
    this.#settings = settings;
    this.#matchers = provider.matchImages.map(createMatcher);
    this.#cache = new ImageCache(provider, settings.clock);
  }

  matches(image: GoUrl): boolean {
    return this.#matchers.some((matcher) => matcher(image));
  }

  /** `undefined` where the provider has nothing to do with the request. */
  async get(image: string, serviceAccount: ServiceAccount | undefined): Promise<ImageResponse | undefined> {
    const account = await this.#account(image, serviceAccount);
    if (!account) return undefined;
    const cached = this.#cache.get(image, account.cacheKey);
    if (cached) return cached;
    const key = JSON.stringify([image, account.runKey]);
    return this.#running.get(key) ?? this.#heldBack(key) ?? this.#run(key, image, account);
  }

  /** A plugin that fails is not run for every pull. */
  #heldBack(key: string): Promise<never> | undefined {
    const failure = this.#failures.get(key);
    const left = failure?.hold.left(this.#settings.clock()) ?? 0;
    return failure && left > 0 ? Promise.reject(failure.error.heldBack(left)) : undefined;
  }

  #run(key: string, image: string, account: Account): Promise<ImageResponse> {
    const running = this.#execute(image, account)
      .then(
        (response) => {
          this.#failures.delete(key);
          this.#cache.set(image, account.cacheKey, response);
          return response;
        },
        (error: unknown) => {
          if (error instanceof PluginError) this.#fail(key, error);
          throw error;
        },
      )
      .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  #fail(key: string, error: PluginError): void {
    const now = this.#settings.clock();
    for (const [other, { hold }] of this.#failures) if (now > hold.until + 300_000) this.#failures.delete(other);
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const hold = new Hold();
    hold.set(now, backoffMs(count));
    this.#failures.set(key, { hold, error, count });
    this.#settings.logger.warn({ provider: this.provider.name }, error.message);
  }

  async #execute(image: string, { request, token }: Account): Promise<ImageResponse> {
    const response = await runImagePlugin(this.provider, this.#path, { image, ...request }, this.#settings);
    const { tokenAttributes } = this.provider;
    const echoed = token !== undefined && Object.values(response.auth).some(({ password }) => password === token);
    // It would be cached for longer than it is good for.
    if (echoed && tokenAttributes?.cacheType !== 'Token') {
      throw this.#failure(
        'ANSWER_TOKEN_ECHOED',
        "answered with the service account's token as a password: that needs cacheType: Token",
      );
    }
    return response;
  }

  /** KEP-4412: before the cache is looked at, a hit too has to be for this account. */
  async #account(image: string, serviceAccount: ServiceAccount | undefined): Promise<Account | undefined> {
    const { tokenAttributes } = this.provider;
    if (!tokenAttributes) return noAccount;
    if (!serviceAccount) return tokenAttributes.requireServiceAccount ? undefined : noAccount;
    const { annotations = {}, namespace, name, uid } = serviceAccount;
    const {
      requiredServiceAccountAnnotationKeys: required,
      optionalServiceAccountAnnotationKeys: others,
      serviceAccountTokenAudience: audience,
      cacheType,
    } = tokenAttributes;
    if (!required.every((key) => Object.hasOwn(annotations, key))) return undefined;
    const wanted = [...required, ...others].filter((key) => Object.hasOwn(annotations, key)).toSorted();
    const chosen = wanted.map((key): [string, string] => [key, annotations[key] ?? '']);
    const { mintToken } = this.#settings;
    if (!mintToken) {
      throw this.#failure('SERVICE_ACCOUNT_FAILED', `image ${image}: tokenAttributes need the option mintToken`);
    }
    let token: string;
    try {
      token = await mintToken({ serviceAccount, audience });
    } catch {
      // What it rejected with may hold anything.
      throw this.#failure(
        'SERVICE_ACCOUNT_FAILED',
        `image ${image}: no token for ${namespace}/${name} could be minted`,
      );
    }
    if (!token) {
      throw this.#failure('SERVICE_ACCOUNT_FAILED', `image ${image}: mintToken gave none for ${namespace}/${name}`);
    }
    const digest = createHash('sha256').update(token).digest('hex');
    return {
      token,
      cacheKey: JSON.stringify([namespace, name, uid, chosen, ...(cacheType === 'Token' ? [digest] : [])]),
      runKey: JSON.stringify([digest, chosen]),
      request: { serviceAccountToken: token, serviceAccountAnnotations: Object.fromEntries(chosen) },
    };
  }

  #failure(code: 'ANSWER_TOKEN_ECHOED' | 'SERVICE_ACCOUNT_FAILED', reason: string): PluginError {
    const { name } = this.provider;
    return new PluginError(code, reason, {
      provider: name,
      origin: `image credential provider ${name}`,
      command: this.#path,
    });
  }
}

/** What a request knows of a service account. */
interface Account {
  readonly token?: string;
  /** Tells cached answers apart. */
  readonly cacheKey: string;
  /** Tells runs apart. */
  readonly runKey: string;
  readonly request: Omit<ImageRequest, 'image'>;
}
const noAccount: Account = { cacheKey: '', runKey: '', request: {} };
