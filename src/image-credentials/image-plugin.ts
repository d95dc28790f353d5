/**
 * Runs one image credential plugin once. A request comes in, a checked response goes out; anything else is a
 * PluginError. This module must not know of caches.
 */
import { callSafely } from '../callbacks.ts';
import { errnoOf } from '../errno.ts';
import { PluginError, type PluginErrorCode, type PluginFailure } from '../errors.ts';
import { AnswerFault, maxAnswerBytes } from '../exec/exec-credential.ts';
import { findExecutable } from '../exec/executable.ts';
import { pluginFileProblem } from '../exec/plugin-file.ts';
import { environmentOf } from '../exec/plugin-input.ts';
import { type Ended, runProcess } from '../exec/process.ts';
import { RunHistory } from '../exec/run-history.ts';
import { withinRunLimit } from '../exec/run-limit.ts';
import { machineProblem, startProblem } from '../exec/start-problem.ts';
import { warnOnStderr } from '../logger.ts';
import { possibleSecrets, secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import { redact } from '../redaction/redact.ts';
import type { Troubles } from '../troubles.ts';
import type { ImageProvider } from './config.ts';
import type { ImageCredentialMetrics } from './metrics.ts';
import { decodeResponse, encodeRequest, type ImageRequest, type ImageResponse } from './protocol.ts';

export interface ImagePluginOptions {
  readonly timeoutMs: number;
  readonly maxConcurrentRuns: number;
  readonly strictPluginFiles: boolean;
  readonly troubles: Troubles;
  readonly metrics?: ImageCredentialMetrics | undefined;
  /** Aborted when the providers are closed: plugins that still run are killed. */
  readonly signal: AbortSignal;
}

/**
 * Waits until the limit allows one more run, which it shares with the credential plugins of clusters, and runs the plugin.
 * Rejects only with a `PluginError`.
 */
export async function runImagePlugin(
  provider: ImageProvider,
  path: string,
  request: ImageRequest,
  options: ImagePluginOptions,
): Promise<ImageResponse> {
  const origin = `image credential provider ${provider.name}`;
  try {
    const { signal, maxConcurrentRuns: limit, timeoutMs } = options;
    return await withinRunLimit({ signal, limit, accessType: origin, history: new RunHistory(), timeoutMs }, () =>
      run(provider, path, request, options),
    );
  } catch (error) {
    if (error instanceof PluginError) throw error;
    if (options.signal.aborted) {
      const reason = `image ${request.image}: was not run: the ImageCredentialProviders are closed`;
      throw new PluginError('PLUGIN_STOPPED', reason, { provider: provider.name, origin, command: path });
    }
    // Its message may quote the arguments: only its code is passed on.
    const { code, reason } = machineProblem(errnoOf(error));
    const failure = { provider: provider.name, origin, command: path };
    throw new PluginError(code, `image ${request.image}: ${reason}`, failure);
  }
}

async function run(
  { name, apiVersion, args, env }: ImageProvider,
  path: string,
  request: ImageRequest,
  options: ImagePluginOptions,
): Promise<ImageResponse> {
  const { timeoutMs, signal: stop, metrics, troubles, strictPluginFiles } = options;
  const origin = `image credential provider ${name}`;
  const fail = (code: PluginErrorCode, reason: string, more: Partial<PluginFailure> = {}) =>
    new PluginError(code, `image ${request.image}: ${reason}`, { provider: name, origin, command: path, ...more });
  if (stop.aborted) throw fail('PLUGIN_STOPPED', 'was not run: the ImageCredentialProviders are closed');
  const executable = await findExecutable(path, '');
  const unsafe = 'problem' in executable ? undefined : await pluginFileProblem(path);
  if (unsafe && strictPluginFiles) throw fail('PLUGIN_FILE_UNSAFE', `could be replaced by somebody else: ${unsafe}`);
  const message = `${origin}: ${path} could be replaced by somebody else: ${unsafe}`;
  const file = { name: `${origin} ${path}`, fields: { provider: name, command: path } };
  troubles.set(file, 'plugin file', unsafe ? [{ code: unsafe, message }] : []);
  const began = performance.now();
  const ended = 'problem' in executable ? undefined : await execute();
  const seconds = (performance.now() - began) / 1000;
  const measure = () => metrics?.executed(name, seconds, ended !== undefined && succeeded(ended));
  callSafely('metrics', measure, warnOnStderr);
  if ('problem' in executable || !ended) throw fail('PLUGIN_NOT_EXECUTABLE', 'it is missing or cannot be executed');
  const token = request.serviceAccountToken;
  const secrets = [...(token ? [token] : []), ...secretsOfEnvironment(env, process.env), ...secretsOfArguments(args)];
  const isCut = ended.stderrCut;
  const stderr = redact(ended.stderr, [...secrets, ...possibleSecrets(ended.stdout, 8)], { isCut });
  const { exitCode, signal, startError } = ended;
  if (ended.tooLarge) throw fail('ANSWER_TOO_LARGE', `printed more than ${maxAnswerBytes} bytes on stdout`, { stderr });
  if (ended.timedOut) throw fail('PLUGIN_TIMEOUT', `gave no answer within ${timeoutMs} ms and was killed`, { stderr });
  if (startError !== undefined) {
    const { code, reason } = startProblem(startError);
    throw fail(code, reason, { stderr });
  }
  if (stop.aborted) throw fail('PLUGIN_STOPPED', 'was stopped, because the ImageCredentialProviders were closed');
  if (signal !== undefined) throw fail('PLUGIN_SIGNALED', `was ended by ${signal}`, { signal, stderr });
  if (exitCode !== 0)
    throw fail('PLUGIN_FAILED', `failed with exit code ${exitCode ?? 'unknown'}`, { exitCode, stderr });
  try {
    return decodeResponse(ended.stdout, apiVersion);
  } catch (fault) {
    if (fault instanceof AnswerFault) throw fail(fault.code, fault.reason, { exitCode, stderr });
    throw fail('ANSWER_UNPARSABLE', 'gave an answer that could not be read', { exitCode });
  }

  function execute(): Promise<Ended> {
    const input = encodeRequest(apiVersion, request);
    return runProcess(path, {
      args,
      env: environmentOf({ env }, false).environment,
      input,
      timeoutMs,
      maxBytes: maxAnswerBytes,
      stop,
    });
  }
}

function succeeded({ exitCode, signal, startError, timedOut }: Ended): boolean {
  return exitCode === 0 && signal === undefined && startError === undefined && !timedOut;
}
