/** The main class of this module: it takes a kubelet's configuration once, and returns the credentials for each image. */
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, checkArgument, PluginError } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import { parseOptionsWith, sharedOptions } from '../options/option-schemas.ts';
import { abortable } from '../util/abortable.ts';
import { isFunction, isObject, isText } from '../util/guards.ts';
import { type ImageProvider, readConfig } from './config.ts';
import { type DockerConfig, toAuths } from './docker-config.ts';
import { type ImageCredentialMetrics, ImagePlugin } from './image-plugin.ts';
import { combine, type ImageCredential, Keyring, parseImageUrl, registryPath, repositoryOf } from './keyring.ts';
import {
  type MintToken,
  parseServiceAccount,
  type ServiceAccount,
  ServiceAccountTokens,
} from './service-account-tokens.ts';

/** Options of `ImageCredentialProviders`, however it is created. */
export interface ImageCredentialOptions {
  /** Gives a service account's token, for providers with `tokenAttributes`: `mintTokenFrom(config)`, or your own. */
  readonly mintToken?: MintToken | undefined;
  /** Milliseconds, 1 or more, that a plugin has to answer before it is killed, and that `mintToken` has. Default: 60_000. */
  readonly pluginTimeoutMs?: number | undefined;
  /** Plugins that run at once in this process: 1 or more. Plugins of clusters count too. Default: four for each core. */
  readonly maxConcurrentPlugins?: number | undefined;
  /** Refuse a plugin if a user other than root and the process's user could replace it. Default: warn once. */
  readonly strictPluginFiles?: boolean | undefined;
  /** The kubelet's metrics: `new ImageCredentialMetrics({ registry })`. */
  readonly metrics?: ImageCredentialMetrics | undefined;
  /** Default: warnings go to stderr. */
  readonly logger?: Logger | undefined;
  /** @internal For tests. The time, in milliseconds since 1970. Default: `Date.now`. */
  readonly clock?: (() => number) | undefined;
}

/** The kubelet's own flags, in the form that `parseArgs` of `node:util` takes as `options`. */
export const imageFlagOptions = {
  'image-credential-provider-config': { type: 'string' },
  'image-credential-provider-bin-dir': { type: 'string' },
} as const;

/** Values of the kubelet's two flags, as `parseArgs` returns them. */
export type ImageFlagValues = { readonly [K in keyof typeof imageFlagOptions]?: string | undefined };

/** A provider that matches and gave nothing, because its plugin failed. */
export interface ImageFailure {
  readonly image: string;
  readonly provider: string;
  readonly error: PluginError;
}

/** A provider that matches and was not asked, because the service account lacks what it requires. */
export interface SkippedProvider {
  readonly image: string;
  readonly provider: string;
  readonly reason: string;
}

/** What is known of one image. */
export interface ImageCredentials {
  /** The repository of the image: with its registry, without tag and digest. */
  readonly image: string;
  /** In the order in which a kubelet would try them. */
  readonly credentials: readonly ImageCredential[];
  readonly failures: readonly ImageFailure[];
  readonly skipped: readonly SkippedProvider[];
}

/** For which service account the image is, and how the caller can stop waiting. */
export interface ImageRequestOptions {
  /** For providers with `tokenAttributes`. */
  readonly serviceAccount?: ServiceAccount | undefined;
  /** If it is aborted, the call rejects with its reason. A run that has begun continues, for the next caller. */
  readonly signal?: AbortSignal | undefined;
}

const optionsSchema = z.strictObject({
  ...sharedOptions,
  mintToken: z.custom<MintToken>(isFunction, { error: 'must be a function' }).optional(),
  // Not by its class, which would load prom-client into the Docker helper.
  metrics: z
    .custom<ImageCredentialMetrics>((value) => isObject(value) && 'executed' in value, {
      error: 'must be new ImageCredentialMetrics({ registry })',
    })
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
  readonly #providers: readonly ImagePlugin[];
  readonly #tokens: ServiceAccountTokens;
  readonly #stop = new AbortController();

  private constructor(providers: readonly ImageProvider[], binDir: string, options: z.output<typeof optionsSchema>) {
    const { signal } = this.#stop;
    const { mintToken, pluginTimeoutMs: timeoutMs, clock } = options;
    this.#tokens = new ServiceAccountTokens({ mintToken, timeoutMs, clock, signal });
    const settings = { ...options, signal, tokens: this.#tokens, warnings: new WarningLimiter(options) };
    this.#providers = providers.map((provider) => new ImagePlugin(provider, join(binDir, provider.name), settings));
  }

  /**
   * Reads a file, or a folder of `.json`, `.yaml` and `.yml` files, and looks for each provider's executable in `binDir`.
   * Throws a `ConfigurationError` with everything that is wrong.
   */
  static fromConfigFile(
    path: string,
    given: ImageCredentialOptions & { readonly binDir: string },
  ): ImageCredentialProviders {
    const where = 'ImageCredentialProviders.fromConfigFile';
    checkArgument(where, 'path', path, isText, "the path of the kubelet's file, or of its folder");
    checkArgument(where, 'options', given, isObject, 'an object: { binDir }');
    const { binDir, ...options } = given;
    checkArgument(where, 'binDir', binDir, isText, 'the path of the folder of plugins');
    const settings = parseOptionsWith(optionsSchema, options);
    const { providers, folder } = readConfig(path, binDir);
    return new ImageCredentialProviders(providers, folder, settings);
  }

  /** From the kubelet's flags, as `parseArgs({ options: imageFlagOptions })` returns them. */
  static fromFlags(values: ImageFlagValues, options: ImageCredentialOptions = {}): ImageCredentialProviders {
    const where = 'ImageCredentialProviders.fromFlags';
    checkArgument(where, 'values', values, isObject, 'the values that parseArgs returns');
    checkArgument(where, 'options', options, isObject, 'an object');
    const path = values['image-credential-provider-config'];
    const binDir = values['image-credential-provider-bin-dir'];
    const problems = Object.keys(imageFlagOptions)
      .filter((name) => !values[name as keyof ImageFlagValues]) // its own keys
      .map((name) => ({ path: `--${name}`, message: 'is missing: the two flags go together' }));
    if (!path || !binDir) throw new ConfigurationError('FLAG_INVALID', 'flags', problems);
    return ImageCredentialProviders.fromConfigFile(path, { binDir, ...options });
  }

  /** Patterns of all providers, in order. */
  get patterns(): readonly string[] {
    return this.#providers.flatMap(({ provider }) => provider.matchImages);
  }

  /**
   * The credentials of every matching provider. A provider that fails is in `failures`, and the others still answer.
   * Rejects with an `ImageError` if the name is invalid, with a `ConfigurationError` if the service account is invalid, and
   * with the signal's reason.
   */
  async getCredentials(image: string, options: ImageRequestOptions = {}): Promise<ImageCredentials> {
    return this.#credentialsOf(repositoryOf(image), options);
  }

  /**
   * For tools that know a registry and no image, such as Docker's credential helpers: `registry[:port][/path]`, without a
   * scheme. Rejects as `getCredentials` does.
   */
  async getRegistryCredentials(registry: string, options: ImageRequestOptions = {}): Promise<ImageCredentials> {
    return this.#credentialsOf(registryPath(registry), options);
  }

  async #credentialsOf(image: string, { serviceAccount, signal }: ImageRequestOptions): Promise<ImageCredentials> {
    const account = serviceAccount === undefined ? undefined : parseServiceAccount(serviceAccount);
    const url = parseImageUrl(image);
    const matching = 'problem' in url ? [] : this.#providers.filter((source) => source.matches(url));
    const ask = async (source: ImagePlugin): Promise<Keyring | ImageFailure | SkippedProvider> => {
      const provider = source.provider.name;
      try {
        const given = await source.get(image, account);
        return given instanceof Keyring ? given : { image, provider, reason: given.skipped };
      } catch (error) {
        if (error instanceof PluginError) return { image, provider, error };
        throw error;
      }
    };
    // No plugin runs for a caller that has stopped waiting.
    const outcomes = await abortable(() => Promise.all(matching.map(ask)), signal);
    const keyrings = outcomes.filter((outcome) => outcome instanceof Keyring);
    return {
      image,
      credentials: combine(image, keyrings),
      failures: outcomes.filter((outcome) => 'error' in outcome),
      skipped: outcomes.filter((outcome) => 'reason' in outcome),
    };
  }

  /**
   * A `config.json` for one image or several, so that Docker, crane and skopeo can pull them, and what is missing from it.
   * `config` holds secrets. Rejects as `getCredentials` does.
   */
  async toDockerConfig(
    images: string | readonly string[],
    options: ImageRequestOptions = {},
  ): Promise<{
    readonly config: DockerConfig;
    readonly failures: readonly ImageFailure[];
    readonly skipped: readonly SkippedProvider[];
  }> {
    const repositories = [...new Set([images].flat().map(repositoryOf))];
    const all = await Promise.all(repositories.map((repository) => this.#credentialsOf(repository, options)));
    return {
      config: toAuths(all),
      failures: all.flatMap(({ failures }) => failures),
      skipped: all.flatMap(({ skipped }) => skipped),
    };
  }

  /** Ends every plugin that runs, and forgets every credential and token. Later calls fail. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#tokens.clear();
    for (const source of this.#providers) source.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
