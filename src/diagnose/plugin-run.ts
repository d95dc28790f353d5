/** Runs a plugin outside of a config: for the credential itself, or for a judgement of its answer. */
import type { FlaggedOptions } from '../access/flags.ts';
import type { ConfiguredProvider } from '../access/provider-schema.ts';
import type { ResolvedAccess } from '../access/resolve.ts';
import { PluginError } from '../errors/index.ts';
import { type Credential, toRfc3339 } from '../exec/credential.ts';
import { findExecutable, pluginFileProblem } from '../exec/executable.ts';
import { runPlugin } from '../exec/plugin.ts';
import type { PluginCall, PluginOptions } from '../exec/plugin-call.ts';
import { shownStderr } from '../exec/plugin-outcome.ts';
import type { Ended } from '../exec/process.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import { parseOptions } from '../options/options.ts';
import { toDestination } from '../providers/configured-providers.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import { expiryOfJwt } from '../util/jwt.ts';

/** The credential that the plugin of a cluster gives. Rejects with a `PluginError`, and with a `ConfigurationError` for wrong options. */
export function getCredential(
  profile: string,
  access: ResolvedAccess,
  providers: readonly ConfiguredProvider[],
  given: Parameters<typeof parseOptions>[0],
  signal: AbortSignal,
): Promise<Credential> {
  return runPlugin(destinationOf(profile, access, providers).call, silentOptions(given, signal));
}

/** As a controller has it; but a clean environment keeps KUBECONFIG: without it the plugin would read ~/.kube/config, another hub. */
export function destinationOf(...given: Parameters<typeof toDestination>): ReturnType<typeof toDestination> {
  const destination = toDestination(...given);
  const { call } = destination;
  const { KUBECONFIG: value } = process.env;
  const { env } = call.exec;
  if (value === undefined || env.some(({ name }) => name === 'KUBECONFIG')) return destination;
  return { ...destination, call: { ...call, exec: { ...call.exec, env: [...env, { name: 'KUBECONFIG', value }] } } };
}

/** The caller reports a failure itself. */
function silentOptions(given: Parameters<typeof parseOptions>[0], signal: AbortSignal): PluginOptions {
  const settings = parseOptions({ ...given, logger: { warn: () => {} } });
  return { ...settings, warnings: new WarningLimiter(settings), signal };
}

/** `-o json` has the same names, and leaves out what is `undefined`. */
export type PluginReport = Awaited<ReturnType<typeof judgePlugin>>;

/** Runs a plugin as a client would, and reports on its answer, without the credential. Rejects for wrong options and at the signal's abort. */
export async function judgePlugin(
  pluginCall: PluginCall,
  given: Pick<FlaggedOptions, 'pluginTimeoutMs' | 'cleanEnvironment'>,
  signal: AbortSignal,
) {
  const { exec, cluster } = pluginCall;
  const executable = await findExecutable(exec.command, process.env.PATH ?? '');
  const path = 'problem' in executable ? undefined : executable.path;
  const unsafe = path && (await pluginFileProblem(path).catch(() => undefined));
  let ended: Ended | undefined;
  let failure: PluginError | undefined;
  const context = {
    reason: 'first',
    secrets: [],
    history: {},
    onEnded: (how: Ended) => {
      ended = how;
    },
  } as const;
  const options = silentOptions(given, signal);
  const began = performance.now();
  const credential = await runPlugin(pluginCall, options, context).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof PluginError)) throw error;
    failure = error;
    return undefined;
  });
  const durationMs = Math.round(performance.now() - began);
  const diagnosis = credential && ended && diagnose(credential, ended, Date.now());
  const warnings = [
    ...(diagnosis?.warnings ?? []),
    ...(unsafe === undefined ? [] : [`its file can be replaced by another user: ${unsafe}`]),
  ];
  const secrets = [
    ...(credential?.secrets ?? []),
    ...secretsOfEnvironment(exec.env, process.env),
    ...secretsOfArguments(exec.args),
  ];
  const stderr = ended && shownStderr(ended, secrets);
  return {
    command: exec.command,
    /** The file that was run. */
    path,
    apiVersion: exec.apiVersion,
    server: cluster?.server,
    durationMs,
    exitCode: ended?.exitCode,
    signal: ended?.signal,
    stdoutBytes: ended && Buffer.byteLength(ended.stdout),
    stderrBytes: ended?.stderrBytes,
    /** The end of it, without what looks like a secret. */
    stderr: stderr || undefined,
    credential: diagnosis?.credential,
    /** Of the error. */
    code: failure?.code,
    /** Why a client has no credential; empty if it has one. */
    errors: failure ? [failure.reason] : [],
    /** Problems that a client accepts, but that should be corrected. */
    warnings,
  };
}

/** What the report says of a credential. `now` is in milliseconds since 1970. */
export function diagnose(credential: Credential, { stderr }: Pick<Ended, 'stderr'>, now: number) {
  const { authorization, keyPair, expiresAt, token = '', secrets } = credential;
  const warnings: string[] = [];
  const tokenExpires = expiryOfJwt(token);
  if (expiresAt === undefined) {
    const known = tokenExpires ?? keyPair?.endsAt;
    const when = known === undefined ? '' : ` (it expires at ${toRfc3339(known)})`;
    warnings.push(
      `it sets no expirationTimestamp${when}, so clients keep the credential until a server refuses it: set one`,
    );
  } else if (expiresAt <= now) {
    warnings.push('its expirationTimestamp has passed already: check whether the clock is right');
  }
  if (expiresAt !== undefined && tokenExpires !== undefined && tokenExpires < expiresAt) {
    warnings.push(
      `its token is a JWT that expires at ${toRfc3339(tokenExpires)}, before expirationTimestamp: set the earlier time`,
    );
  }
  if (secrets.some((secret) => stderr.includes(secret)))
    warnings.push('it writes its credential on stderr too, which clients log: write nothing secret there');
  const facts = {
    kinds: [...(authorization ? ['token'] : []), ...(keyPair ? ['client certificate'] : [])],
    expirationTimestamp: expiresAt === undefined ? undefined : toRfc3339(expiresAt),
    expiresInSeconds: expiresAt === undefined ? undefined : Math.floor((expiresAt - now) / 1_000),
    certificate: keyPair && { notBefore: toRfc3339(keyPair.startsAt), notAfter: toRfc3339(keyPair.endsAt) },
  };
  return { warnings, credential: facts };
}
