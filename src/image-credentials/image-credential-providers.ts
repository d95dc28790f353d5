/** The front door of this room: a kubelet's configuration comes in once, images come in again and again, credentials go out. */
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { abortable } from '../abortable.ts';
import { ConfigurationError, PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { isFunction, parseOptionsWith, sharedOptions } from '../option-schemas.ts';
import type { ImageProvider } from './config.ts';
import { readConfig } from './config-files.ts';
import { type DockerConfig, toAuths } from './docker-config.ts';
import { parseGoUrl } from './go-url.ts';
import { repositoryOf } from './image-name.ts';
import { combine, type ImageCredential, type ProviderAnswer } from './keyring.ts';
import { ImageCredentialMetrics } from './metrics.ts';
import { ProviderSource, type ServiceAccount, type TokenRequest } from './provider-source.ts';

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
/**
 * Image credentials from the kubelet's plugins (KEP-2133), for programs that copy, scan or verify images.
 *
 * @example
 * const providers = ImageCredentialProviders.fromConfigFile('/etc/kubernetes/providers.yaml', { binDir: '/opt/plugins' });
 * const { credentials } = await providers.getCredentials('123.dkr.ecr.us-east-1.amazonaws.com/app:1');
 */
export class ImageCredentialProviders {
  readonly #providers: readonly ProviderSource[];
  readonly #stop = new AbortController();

  private constructor(providers: readonly ImageProvider[], binDir: string, options: z.output<typeof optionsSchema>) {
    const settings = { ...options, signal: this.#stop.signal };
    this.#providers = providers.map((provider) => new ProviderSource(provider, join(binDir, provider.name), settings));
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
    // A bare name would be looked for in PATH.
    const folder = resolve(binDir);
    const { providers, hash } = readConfig(path, folder);
    const result = new ImageCredentialProviders(providers, folder, settings);
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
    const ask = async (source: ProviderSource): Promise<ProviderAnswer | PluginError> => {
      try {
        const response = await source.get(image, serviceAccount);
        return { provider: source.provider.name, auth: response?.auth ?? {} };
      } catch (error) {
        if (error instanceof PluginError) return error;
        throw error;
      }
    };
    const outcomes = await abortable(() => Promise.all(matching.map(ask)), signal);
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
