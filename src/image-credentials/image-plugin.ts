/**
 * Runs one image credential plugin once. A request comes in, a checked response goes out; anything else is a
 * PluginError. This module must not know of caches.
 */

import { maxAnswerBytes } from '../exec/credential.ts';
import { environmentOf, type Plugin, type PluginOptions } from '../exec/plugin-call.ts';
import { runExecutable } from '../exec/plugin-executable.ts';
import { readAnswer, shownStderr, toPluginError } from '../exec/plugin-outcome.ts';
import type { Ended } from '../exec/process.ts';
import { withinRunLimit } from '../exec/run-limit.ts';
import { callSafely } from '../observability/callbacks.ts';
import { warnOnStderr } from '../observability/logger.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import type { ImageProvider } from './config.ts';
import type { ImageCredentialMetrics } from './metrics.ts';
import { decodeResponse, encodeRequest, type ImageRequest, type ImageResponse } from './protocol.ts';

export interface ImagePluginOptions
  extends Pick<PluginOptions, 'timeoutMs' | 'maxConcurrentRuns' | 'strictPluginFiles' | 'warnings' | 'signal'> {
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
  const { signal, maxConcurrentRuns: limit } = options;
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
  const { timeoutMs, signal: stop, metrics } = options;
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
