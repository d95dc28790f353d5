/** The front door of this room: a kubelet's configuration comes in once, images come in again and again, credentials go out. */
import { createHash } from 'node:crypto';
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { z } from 'zod';
import { abortable } from '../abortable.ts';
import { ConfigurationError, PluginError } from '../errors.ts';
import { backoffMs, Hold } from '../exec/backoff.ts';
import type { Logger } from '../logger.ts';
import { isFunction, parseOptionsWith, sharedOptions } from '../option-schemas.ts';
import { ImageCache } from './cache.ts';
import { type ImageProvider, parseImageConfig } from './config.ts';
import { type DockerConfig, toAuths } from './docker-config.ts';
import { type GoUrl, parseGoUrl } from './go-url.ts';
import { repositoryOf } from './image-name.ts';
import { runImagePlugin } from './image-plugin.ts';
import { combine, type ImageCredential, type ProviderAnswer } from './keyring.ts';
import { createMatcher } from './match-image.ts';
import { ImageCredentialMetrics } from './metrics.ts';
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

export interface ImageCredentialOptions {
  /** Gives a service account's token (TokenRequest), for providers with `tokenAttributes`. */
  readonly mintToken?: (request: TokenRequest) => Promise<string>;
  /** Milliseconds until a plugin that has not answered is killed. Default: 60_000. */
  readonly timeoutMs?: number;
  /** Plugins that run at once in this process, those of clusters counted in. Default: four for each core. */
  readonly maxConcurrentRuns?: number;
  /** Refuse a plugin that others than root and the process's user could replace; default: warn once. */
  readonly strictPluginFiles?: boolean;
  /** The kubelet's metrics: `new ImageCredentialMetrics({ registry })`. */
  readonly metrics?: ImageCredentialMetrics;
  /** Default: warnings go to stderr, each of them once. */
  readonly logger?: Logger;
  /** The time, in milliseconds since 1970. Default: `Date.now`. */
  readonly clock?: () => number;
}

/** The kubelet's own flags, in the form that `parseArgs` of `node:util` takes as `options`. */
export const imageFlagOptions = {
  'image-credential-provider-config': { type: 'string' },
  'image-credential-provider-bin-dir': { type: 'string' },
} as const;

export type ImageFlagValues = { readonly [K in keyof typeof imageFlagOptions]?: string | undefined };

/** What is known of one image. */
export interface ImageCredentials {
  /** The repository that was asked for: with its registry, without tag and digest. */
  readonly image: string;
  /** In the order in which a kubelet would try them. */
  readonly credentials: readonly ImageCredential[];
  /** Providers that match and gave nothing, because their plugin failed. */
  readonly failures: readonly { readonly provider: string; readonly error: PluginError }[];
}

const optionsSchema = z.strictObject({
  ...sharedOptions,
  mintToken: z
    .custom<(request: TokenRequest) => Promise<string>>(isFunction, { error: 'must be a function' })
    .optional(),
  metrics: z
    .instanceof(ImageCredentialMetrics, { error: 'must be new ImageCredentialMetrics({ registry })' })
    .optional(),
});
type Settings = z.output<typeof optionsSchema> & { readonly signal: AbortSignal };

/**
 * Image credentials from the kubelet's plugins (KEP-2133), for programs that copy, scan or verify images.
 *
 * @example
 * const providers = ImageCredentialProviders.fromConfigFile('/etc/kubernetes/providers.yaml', { binDir: '/opt/plugins' });
 * const { credentials } = await providers.getCredentials('123.dkr.ecr.us-east-1.amazonaws.com/app:1');
 */
export class ImageCredentialProviders {
  readonly #providers: readonly Source[];
  readonly #stop = new AbortController();

  private constructor(providers: readonly ImageProvider[], binDir: string, options: z.output<typeof optionsSchema>) {
    const settings = { ...options, signal: this.#stop.signal };
    this.#providers = providers.map((provider) => new Source(provider, join(binDir, provider.name), settings));
  }

  /**
   * Reads a file, or a folder of `.json`, `.yaml` and `.yml` files, and looks for each provider's executable in `binDir`.
   * Throws a `ConfigurationError` with everything that is wrong.
   */
  static fromConfigFile(
    path: string,
    { binDir, ...options }: ImageCredentialOptions & { readonly binDir: string },
  ): ImageCredentialProviders {
    const settings = parseOptionsWith(optionsSchema, options);
    const { providers, hash } = readConfig(path, binDir);
    const result = new ImageCredentialProviders(providers, binDir, settings);
    settings.metrics?.configured(hash);
    return result;
  }

  /** From the kubelet's flags, as `parseArgs({ options: imageFlagOptions })` returns them. */
  static fromFlags(values: ImageFlagValues, options: ImageCredentialOptions = {}): ImageCredentialProviders {
    const path = values['image-credential-provider-config'];
    const binDir = values['image-credential-provider-bin-dir'];
    const problems = Object.keys(imageFlagOptions)
      .filter((name) => !values[name as keyof ImageFlagValues]) // its own keys
      .map((name) => ({ path: `--${name}`, message: 'is missing: the two flags go together' }));
    if (!path || !binDir) throw new ConfigurationError('FLAG_INVALID', 'flags', problems);
    return ImageCredentialProviders.fromConfigFile(path, { binDir, ...options });
  }

  /** The providers, in the order in which they are asked. */
  get providerNames(): readonly string[] {
    return this.#providers.map(({ provider }) => provider.name);
  }

  /** Patterns of all providers, in order. */
  get patterns(): readonly string[] {
    return this.#providers.flatMap(({ provider }) => provider.matchImages);
  }

  /**
   * The credentials of every matching provider. One that fails does not take the others down: it is in `failures`.
   * Rejects with an `ImageError` where the name is none, and with the signal's reason; a run goes on all the same.
   */
  async getCredentials(
    image: string,
    { serviceAccount, signal }: { readonly serviceAccount?: ServiceAccount; readonly signal?: AbortSignal } = {},
  ): Promise<ImageCredentials> {
    return this.#credentialsOf(repositoryOf(image), serviceAccount, signal);
  }

  /** For tools that know a registry and no image, such as Docker's credential helpers: `registry[:port][/path]`. */
  async getRegistryCredentials(
    registry: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<ImageCredentials> {
    return this.#credentialsOf(registry, undefined, signal);
  }

  async #credentialsOf(
    image: string,
    serviceAccount: ServiceAccount | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ImageCredentials> {
    const url = parseGoUrl(image);
    const matching = 'problem' in url ? [] : this.#providers.filter((source) => source.matches(url));
    const asked = matching.map(async (source): Promise<ProviderAnswer | PluginError> => {
      try {
        const response = await source.get(image, serviceAccount);
        return { provider: source.provider.name, auth: response?.auth ?? {} };
      } catch (error) {
        if (error instanceof PluginError) return error;
        throw error;
      }
    });
    const outcomes = await abortable(Promise.all(asked), signal);
    const answers = outcomes.flatMap((outcome) => ('auth' in outcome ? [outcome] : []));
    const failed = outcomes.flatMap((outcome) => ('auth' in outcome ? [] : [outcome]));
    return {
      image,
      credentials: combine(image, answers),
      failures: failed.map((error) => ({ provider: error.provider, error })),
    };
  }

  /** The `auths` of a `config.json` for one image or several, so that skopeo, crane and Docker can pull them. Holds secrets. */
  async toDockerConfig(images: string | readonly string[]): Promise<DockerConfig> {
    const all = await Promise.all([images].flat().map((image) => this.getCredentials(image)));
    return toAuths(all);
  }

  /** Ends every plugin that runs. */
  async close(): Promise<void> {
    this.#stop.abort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** One provider: its cache, and the runs that its callers share. */
class Source {
  readonly provider: ImageProvider;
  readonly #path: string;
  readonly #settings: Settings;
  readonly #matchers: readonly ((image: GoUrl) => boolean)[];
  readonly #cache: ImageCache;
  readonly #running = new Map<string, Promise<ImageResponse>>();
  readonly #failures = new Map<string, { readonly hold: Hold; readonly error: PluginError; readonly count: number }>();

  constructor(provider: ImageProvider, path: string, settings: Settings) {
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
    let token: string;
    try {
      token = mintToken ? await mintToken({ serviceAccount, audience }) : '';
    } catch {
      // What it rejected with may hold anything.
      throw this.#failure(
        'SERVICE_ACCOUNT_FAILED',
        `image ${image}: no token for ${namespace}/${name} could be minted`,
      );
    }
    if (!token)
      throw this.#failure('SERVICE_ACCOUNT_FAILED', `image ${image}: tokenAttributes need the option mintToken`);
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

/** Reads the configuration as a kubelet does when it starts: folder of plugins, files, validation, executables. */
function readConfig(
  path: string,
  binDir: string,
): { readonly providers: readonly ImageProvider[]; readonly hash: string } {
  const unreadable = (where: string, message: string) =>
    new ConfigurationError('IMAGE_CONFIG_UNREADABLE', where, [{ path: '', message }]);
  if (!statOf(binDir)?.isDirectory())
    throw unreadable(`folder of plugins ${binDir}`, 'does not exist, or is no folder');
  const stats = path === '' ? undefined : statOf(path);
  if (!stats) throw unreadable(`image credential provider config ${path}`, 'does not exist: correct the path');
  const files = stats.isDirectory()
    ? readdirSync(path)
        .filter((name) => ['.json', '.yaml', '.yml'].includes(extname(name) || (name.startsWith('.') ? name : '')))
        .map((name) => join(path, name))
        .filter((file) => statOf(file)?.isFile())
        .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    : [path];
  if (files.length === 0) throw unreadable(`folder ${path}`, 'holds no .json, .yaml or .yml file');
  const hash = createHash('sha256');
  const names = new Set<string>();
  const problems: ConfigurationError[] = [];
  const providers = files.flatMap((file) => {
    const bytes = readFileSync(file);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
    try {
      return parseImageConfig(bytes.toString('utf8'), file, names);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(error);
      return [];
    }
  });
  const [first] = problems;
  if (first && problems.length === 1) throw first;
  if (first) {
    // Each problem says its file.
    const all = problems.map(({ message }) => ({ path: '', message }));
    throw new ConfigurationError('IMAGE_CONFIG_INVALID', `folder ${path}`, all);
  }
  const missing = providers.flatMap(({ name }) => {
    const message = executableProblem(join(binDir, name));
    return message ? [{ path: `provider ${name}`, message: `${join(binDir, name)} ${message}` }] : [];
  });
  if (missing.length > 0) throw new ConfigurationError('IMAGE_CONFIG_INVALID', `folder of plugins ${binDir}`, missing);
  return { providers, hash: `sha256:${hash.digest('hex')}` };
}

function statOf(path: string): ReturnType<typeof statSync> {
  return statSync(path, { throwIfNoEntry: false });
}

function executableProblem(path: string): string | undefined {
  const stats = statOf(path);
  if (!stats) return 'does not exist: install the plugin, or correct the name';
  if (stats.isDirectory()) return 'is a folder';
  try {
    accessSync(path, constants.X_OK);
    return undefined;
  } catch {
    return 'is not executable (chmod +x)';
  }
}
