/**
 * Runs one image credential plugin once. A request comes in, a checked response goes out; anything else is a
 * PluginError. This module must not know of caches.
 */

import type { Counter, Histogram } from 'prom-client';
import { maxAnswerBytes } from '../exec/credential.ts';
import { runExecutable } from '../exec/executable.ts';
import { environmentOf, type Plugin, type PluginOptions } from '../exec/plugin-call.ts';
import { readAnswer, shownStderr, toPluginError } from '../exec/plugin-outcome.ts';
import type { Ended } from '../exec/process.ts';
import { withinRunLimit } from '../exec/run-limit.ts';
import { callSafely } from '../observability/callbacks.ts';
import { warnOnStderr } from '../observability/logger.ts';
import { MetricFactory, type MetricsRegistry } from '../observability/metrics.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import type { ImageProvider } from './config.ts';
import { decodeResponse, encodeRequest, type ImageRequest, type ImageResponse } from './protocol.ts';

export interface ImagePluginOptions
  extends Pick<
    PluginOptions,
    'pluginTimeoutMs' | 'maxConcurrentPlugins' | 'strictPluginFiles' | 'warnings' | 'signal'
  > {
  readonly metrics?: ImageCredentialMetrics | undefined;
}

/**
 * Waits until the limit allows one more run, which it shares with the credential plugins of clusters, and runs the plugin.
 * Rejects only with a `PluginError`.
 */
export async function runImagePlugin(
  given: Plugin,
  provider: ImageProvider,
  request: ImageRequest,
  options: ImagePluginOptions,
): Promise<ImageResponse> {
  const { signal, maxConcurrentPlugins: limit } = options;
  const plugin: Plugin = { ...given, purpose: `image ${request.image}` };
  try {
    return await withinRunLimit({ signal, limit, accessType: plugin.origin, history: {} }, () =>
      run(plugin, provider, request, options),
    );
  } catch (error) {
    throw toPluginError(plugin, error, signal);
  }
}

async function run(
  plugin: Plugin,
  { name, apiVersion, args, env }: ImageProvider,
  request: ImageRequest,
  options: ImagePluginOptions,
): Promise<ImageResponse> {
  const { pluginTimeoutMs: timeoutMs, signal: stop, metrics } = options;
  const { environment } = environmentOf({ env }, false);
  const input = encodeRequest(apiVersion, request);
  const settings = { args, env: environment, input, timeoutMs, maxBytes: maxAnswerBytes, stop };
  const began = performance.now();
  let ended: Ended | undefined;
  try {
    ended = await runExecutable(plugin, settings, { ...options, pluginPolicy: { policyType: 'AllowAll' } });
  } finally {
    const seconds = (performance.now() - began) / 1000;
    const hasSucceeded = ended?.exitCode === 0 && !ended.timedOut;
    callSafely('metrics', () => metrics?.executed(name, seconds, hasSucceeded), warnOnStderr);
  }
  const token = request.serviceAccountToken;
  const secrets = [...(token ? [token] : []), ...secretsOfEnvironment(env, process.env), ...secretsOfArguments(args)];
  const decode = (stdout: string) => decodeResponse(stdout, apiVersion);
  return readAnswer(plugin, ended, { decode, timeoutMs, stderr: shownStderr(ended, secrets, 8) });
}

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
