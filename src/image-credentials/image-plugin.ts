/**
 * Runs one image credential plugin once: what it is asked goes in, a checked response comes out, anything else is a
 * PluginError. It must not know of caches.
 */
import { PluginError, type PluginErrorCode, type PluginFailure } from '../errors.ts';
import { AnswerFault, maxAnswerBytes } from '../exec/exec-credential.ts';
import { findExecutable } from '../exec/executable.ts';
import { pluginFileProblem } from '../exec/plugin-file.ts';
import { type Ended, runProcess } from '../exec/process.ts';
import { redact } from '../exec/redact.ts';
import { withinRunLimit } from '../exec/run-limit.ts';
import { type Logger, warnOnce } from '../logger.ts';
import type { ImageProvider } from './config.ts';
import type { ImageCredentialMetrics } from './metrics.ts';
import { decodeResponse, encodeRequest, type ImageRequest, type ImageResponse } from './protocol.ts';

export interface ImagePluginOptions {
  readonly timeoutMs: number;
  readonly maxConcurrentRuns: number;
  readonly strictPluginFiles: boolean;
  readonly logger: Logger;
  readonly metrics?: ImageCredentialMetrics | undefined;
  /** Aborted when the providers are closed: plugins that still run are killed. */
  readonly signal: AbortSignal;
}

/** Runs the plugin when there is a place; the bound is shared with the credential plugins of clusters. */
export function runImagePlugin(
  provider: ImageProvider,
  path: string,
  request: ImageRequest,
  options: ImagePluginOptions,
): Promise<ImageResponse> {
  return withinRunLimit(options.maxConcurrentRuns, `image credential provider ${provider.name}`, () =>
    run(provider, path, request, options),
  );
}

async function run(
  { name, apiVersion, args, env }: ImageProvider,
  path: string,
  request: ImageRequest,
  options: ImagePluginOptions,
): Promise<ImageResponse> {
  const { timeoutMs, signal: stop, metrics, logger, strictPluginFiles } = options;
  const origin = `image credential provider ${name}`;
  const fail = (code: PluginErrorCode, reason: string, more: Partial<PluginFailure> = {}) =>
    new PluginError(code, `image ${request.image}: ${reason}`, { provider: name, origin, command: path, ...more });
  if (stop.aborted) throw fail('PLUGIN_STOPPED', 'was not run: the ImageCredentialProviders are closed');
  const executable = await findExecutable(path, '');
  const unsafe = 'problem' in executable ? undefined : await pluginFileProblem(path).catch(() => undefined);
  if (unsafe && strictPluginFiles) throw fail('PLUGIN_FILE_UNSAFE', `could be replaced by somebody else: ${unsafe}`);
  if (unsafe) warnOnce(logger, { provider: name }, `${origin}: ${path} could be replaced by somebody else: ${unsafe}`);
  const began = performance.now();
  const ended = 'problem' in executable ? undefined : await execute();
  metrics?.executed(name, (performance.now() - began) / 1000, ended !== undefined && succeeded(ended));
  if ('problem' in executable || !ended) throw fail('PLUGIN_NOT_EXECUTABLE', 'it is missing or cannot be executed');
  const token = request.serviceAccountToken;
  const stderr = redact(ended.stderr, [...(token ? [token] : []), ...wordsOf(ended.stdout)]);
  const { exitCode, signal, startError } = ended;
  if (ended.tooLarge) throw fail('ANSWER_TOO_LARGE', `printed more than ${maxAnswerBytes} bytes on stdout`, { stderr });
  if (ended.timedOut) throw fail('PLUGIN_TIMEOUT', `gave no answer within ${timeoutMs} ms and was killed`, { stderr });
  if (startError !== undefined) throw fail('PLUGIN_NOT_EXECUTABLE', `could not be started (${startError})`, { stderr });
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
    // Without a prototype, so that a variable named __proto__ is one like any other.
    const environment: Record<string, string> = Object.create(null);
    for (const [key, value] of Object.entries(process.env)) if (value !== undefined) environment[key] = value;
    for (const { name: key, value } of env) environment[key] = value;
    const input = encodeRequest(apiVersion, request);
    return runProcess(path, { args, env: environment, input, timeoutMs, maxBytes: maxAnswerBytes, stop });
  }
}

function succeeded({ exitCode, signal, startError, timedOut }: Ended): boolean {
  return exitCode === 0 && signal === undefined && startError === undefined && !timedOut;
}

/** The long words of stdout: any of them may be a secret that the plugin wrote on stderr too. */
function wordsOf(stdout: string): readonly string[] {
  return [...new Set(stdout.match(/[^\s"'{}[\],:]{8,}/g) ?? [])].slice(0, 1_000);
}
