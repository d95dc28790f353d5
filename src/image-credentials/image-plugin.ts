/**
 * One image credential provider: the images that it is for, the runs of its plugin, which callers share, and the cached answers.
 * This module must not know of other providers.
 */
import { createHash } from 'node:crypto';
import type { Counter, Histogram } from 'prom-client';
import { PluginError } from '../errors/index.ts';
import { maxAnswerBytes } from '../exec/credential.ts';
import { runExecutable } from '../exec/executable.ts';
import { environmentOf, type Plugin, type PluginOptions } from '../exec/plugin-call.ts';
import { failure, readAnswer, shownStderr, stoppedReason, toPluginError } from '../exec/plugin-outcome.ts';
import type { Ended } from '../exec/process.ts';
import { withinRunLimit } from '../exec/run-limit.ts';
import { callSafely } from '../observability/callbacks.ts';
import { warnOnStderr } from '../observability/logger.ts';
import { MetricFactory, type MetricsRegistry } from '../observability/metrics.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import { ExpiringMap, SingleFlight } from './cache.ts';
import type { ImageProvider } from './config.ts';
import { createMatcher, type ImageUrl, Keyring, registryOf } from './keyring.ts';
import {
  type CacheKeyType,
  cacheKeyTypes,
  decodeResponse,
  encodeRequest,
  type ImageRequest,
  type ImageResponse,
} from './protocol.ts';
import {
  chosenAnnotations,
  type ServiceAccount,
  type ServiceAccountTokens,
  TokenFault,
} from './service-account-tokens.ts';

interface ImagePluginOptions
  extends Pick<
    PluginOptions,
    'pluginTimeoutMs' | 'maxConcurrentPlugins' | 'strictPluginFiles' | 'warnings' | 'signal'
  > {
  readonly metrics?: ImageCredentialMetrics | undefined;
  readonly tokens: ServiceAccountTokens;
  readonly clock: () => number;
}

/** Why a provider that matches an image was not asked. */
interface Skipped {
  readonly skipped: string;
}

/** @internal */
export class ImagePlugin {
  readonly provider: ImageProvider;
  readonly #plugin: Plugin;
  readonly #settings: ImagePluginOptions;
  readonly #matchers: readonly ((image: ImageUrl) => boolean)[];
  readonly #cache: ExpiringMap<Keyring>;
  readonly #runs: SingleFlight<Keyring>;

  constructor(provider: ImageProvider, path: string, settings: ImagePluginOptions) {
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

  clear(): void {
    this.#cache.clear();
  }

  async #run(image: string, { key, request }: Account): Promise<Keyring> {
    const { warnings, signal } = this.#settings;
    const plugin: Plugin = { ...this.#plugin, purpose: `image ${image}` };
    const subject = { name: `${this.provider.name} ${image}`, fields: { provider: this.provider.name, image } };
    try {
      const response = await this.#execute(plugin, { image, ...request });
      const token = request.serviceAccountToken;
      const echoed = token !== undefined && [...response.auth.values()].some(({ password }) => password === token);
      // It would be cached for longer than it is valid.
      if (echoed && this.provider.tokenAttributes?.cacheType !== 'Token') {
        const reason = "answered with the service account's token as a password: that needs cacheType: Token";
        throw failure(plugin, 'ANSWER_TOKEN_ECHOED', reason);
      }
      const keyring = new Keyring(this.provider.name, response.auth);
      const unused = keyring.problems.map((problem) => ({
        key: problem,
        message: `${this.#plugin.origin}: image ${image}: answered with a login that is for no image, because its key ${problem}`,
      }));
      warnings.set(subject, 'image key', unused);
      const { cacheKeyType, cacheDurationMs = this.provider.defaultCacheDuration } = response;
      if (!signal.aborted) this.#cache.set(cacheKey(cacheKeyType, image, key), keyring, cacheDurationMs);
      warnings.clear(subject, 'image', `image ${image}: provider ${this.provider.name} answers again`);
      return keyring;
    } catch (error) {
      if (error instanceof PluginError && error.code !== 'PLUGIN_STOPPED') warnings.add(subject, 'image', error);
      throw error;
    }
  }

  /** Waits until the limit allows one more run, which it shares with the credential plugins of clusters. Rejects only with a `PluginError`. */
  async #execute(plugin: Plugin, request: ImageRequest): Promise<ImageResponse> {
    const { name, apiVersion, args, env } = this.provider;
    const { maxConcurrentPlugins: limit, pluginTimeoutMs: timeoutMs, signal, metrics } = this.#settings;
    const { environment } = environmentOf({ env }, false);
    const input = encodeRequest(apiVersion, request);
    const settings = { args, env: environment, input, timeoutMs, maxBytes: maxAnswerBytes, stop: signal };
    const run = async () => {
      const began = performance.now();
      let ended: Ended | undefined;
      try {
        ended = await runExecutable(plugin, settings, { ...this.#settings, pluginPolicy: { policyType: 'AllowAll' } });
        return ended;
      } finally {
        const seconds = (performance.now() - began) / 1000;
        const hasSucceeded = ended?.exitCode === 0 && !ended.timedOut;
        callSafely('metrics', () => metrics?.executed(name, seconds, hasSucceeded), warnOnStderr);
      }
    };
    try {
      const ended = await withinRunLimit({ signal, limit, accessType: plugin.origin, history: {} }, run);
      const token = request.serviceAccountToken ?? [];
      const secrets = [token, secretsOfEnvironment(env, process.env), secretsOfArguments(args)].flat();
      const decode = (stdout: string) => decodeResponse(stdout, apiVersion);
      return readAnswer(plugin, ended, { decode, timeoutMs, stderr: shownStderr(ended, secrets, 8) });
    } catch (error) {
      throw toPluginError(plugin, error, signal);
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
    const { signal, tokens } = this.#settings;
    const request = { serviceAccount, audience: tokenAttributes.serviceAccountTokenAudience };
    const token = await tokens.get(request).catch((fault: unknown) => {
      if (!(fault instanceof TokenFault)) throw fault;
      if (signal.aborted) throw failure(this.#plugin, 'PLUGIN_STOPPED', stoppedReason);
      const failed = failure(this.#plugin, 'SERVICE_ACCOUNT_FAILED', `image ${image}: ${fault.reason}`);
      throw fault.retryAfterMs === undefined ? failed : failed.heldBack(fault.retryAfterMs);
    });
    const runKey = JSON.stringify([namespace, name, uid, chosen]);
    const digest = createHash('sha256').update(token).digest('hex');
    return {
      key: tokenAttributes.cacheType === 'Token' ? JSON.stringify([runKey, digest]) : runKey,
      // Without the token: a run that fails with one token fails with the next too, and needs its cooldown.
      runKey,
      request: { serviceAccountToken: token, serviceAccountAnnotations: Object.fromEntries(chosen) },
    };
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

/**
 * The kubelet's metrics of image credential providers, with its names and labels, in the caller's registry.
 *
 * @example
 * ImageCredentialProviders.fromConfigFile(path, { binDir, metrics: new ImageCredentialMetrics({ registry }) });
 */
export class ImageCredentialMetrics {
  readonly #errors: Counter<'plugin_name'>;
  readonly #duration: Histogram<'plugin_name'>;

  /** Throws prom-client's error if the registry has metrics of these names already. */
  constructor(options: { readonly registry: MetricsRegistry }) {
    const metrics = new MetricFactory('ImageCredentialMetrics', options);
    this.#errors = metrics.counter(
      'kubelet_credential_provider_plugin_errors_total',
      'Plugin executions that failed.',
      ['plugin_name'],
    );
    this.#duration = metrics.histogram(
      'kubelet_credential_provider_plugin_duration',
      'Seconds that plugin executions took.',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      ['plugin_name'],
    );
  }

  /** @internal A plugin was executed. Whether its answer could be used does not count. */
  executed(plugin: string, seconds: number, succeeded: boolean): void {
    this.#duration.observe({ plugin_name: plugin }, seconds);
    if (!succeeded) this.#errors.inc({ plugin_name: plugin });
  }
}
