import { z } from 'zod';
import { allowlistEntryProblem, digestProblem } from './access/allowlist-entry.ts';
import { isFunction } from './argument.ts';
import { callSafely } from './callbacks.ts';
import { ConfigurationError, type Problem } from './errors.ts';
import type { PluginAllowlistEntry, PluginPolicy, PluginPolicyType } from './exec/plugin-policy.ts';
import type { Logger } from './logger.ts';
import { CredentialMetrics } from './metrics.ts';
import { flag, milliseconds, parseOptionsWith, sharedOptions } from './option-schemas.ts';

/** Options of every way to make a `CredentialProviders`; each is validated at construction. */
export interface CredentialProvidersOptions {
  /** Milliseconds until a plugin that has not answered is killed. Default: 60_000. */
  readonly timeoutMs?: number;
  /** Milliseconds until a connection to a server that does not answer is given up. Default: 10_000. */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds until a request is given up, its body and the plugin's run included; watches, followed logs and other
   * long-running requests are exempt. Default: none, as in client-go.
   */
  readonly requestTimeoutMs?: number;
  /** Bytes that a generated client takes for one answer, uncompressed. Default: 512 MiB. */
  readonly maxResponseBytes?: number;
  /** Milliseconds that the streams of a replaced certificate or provider may go on. Default: 3_600_000. */
  readonly drainTimeoutMs?: number;
  /** Milliseconds that a connection and its credential are kept when nobody leases them. Default: 300_000. */
  readonly idleTimeoutMs?: number;
  /** Plugins that run at once; several limits in one process: no more than the largest. Default: four for each core. */
  readonly maxConcurrentRuns?: number;
  /** Treat a 403 as a 401, as KEP-541 did in 2019; held back as well. Default: false. */
  readonly refreshOnForbidden?: boolean;
  /** Give plugins nothing of the process's environment but `PATH`, `HOME` and what is configured. Default: false. */
  readonly cleanEnvironment?: boolean;
  /** Which plugins may be run at all, checked before every run. Default: all. */
  readonly pluginPolicy?: PluginPolicy;
  /** Refuse a plugin that others than root and the process's user could replace; default: warn once. */
  readonly strictPluginFiles?: boolean;
  /**
   * What a careful platform team would set: `strictPluginFiles` and `cleanEnvironment`, and it asks for a `pluginPolicy` of
   * `Allowlist` and for rules on every provider: `allowedServers`, and `allowedArgs` and `allowedEnvVars` where a policy
   * lets profiles in. `allowInsecureTLS` is refused. Default: false.
   */
  readonly hardened?: boolean;
  /** Read the provider file again when it changes. Default: false. */
  readonly watchProviderFile?: boolean;
  /** With `watchProviderFile`: told when a changed file has taken effect. */
  readonly onChange?: (change: ProviderFileChange) => void;
  /** Is told of plugin runs and credentials: `new CredentialMetrics({ registry })`. */
  readonly metrics?: CredentialMetrics;
  /** Default: warnings go to stderr; nothing else is said. */
  readonly logger?: Logger;
  /** The time, in milliseconds since 1970. Default: `Date.now`. */
  readonly clock?: () => number;
}

/** What a changed provider file means, by access type. Live configs of those changed or removed have to be got again. */
export interface ProviderFileChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

const policyTypes = ['AllowAll', 'DenyAll', 'Allowlist'] as const;
const optionsSchema = z.strictObject({
  ...sharedOptions,
  idleTimeoutMs: milliseconds(0).default(300_000),
  connectTimeoutMs: milliseconds(1).default(10_000),
  requestTimeoutMs: milliseconds(1).optional(),
  maxResponseBytes: z
    .int({ error: 'must be a whole number of bytes' })
    .min(1, { error: 'must be a whole number of bytes' })
    .default(512 * 1024 * 1024),
  drainTimeoutMs: milliseconds(0).default(3_600_000),
  refreshOnForbidden: flag,
  cleanEnvironment: flag,
  pluginPolicy: z
    .strictObject(
      {
        policyType: z.enum(policyTypes, { error: `must be one of ${policyTypes.join(', ')}` }),
        allowlist: z
          .array(
            z.strictObject(
              {
                command: z.string({ error: 'must be text' }).superRefine((command, context) => {
                  const message = allowlistEntryProblem(command);
                  if (message) context.addIssue({ code: 'custom', message });
                }),
                sha256: z
                  .string({ error: digestProblem('') ?? '' })
                  .superRefine((sha256, context) => {
                    const message = digestProblem(sha256);
                    if (message) context.addIssue({ code: 'custom', message });
                  })
                  .optional(),
              },
              { error: 'must be an object with command, and sha256 where it is pinned' },
            ),
            { error: 'must be a list of objects with command' },
          )
          .optional(),
      },
      { error: 'must be an object with policyType' },
    )
    .superRefine(({ policyType, allowlist }, context) => {
      const problem = allowlistProblem(policyType, allowlist);
      if (problem) context.addIssue({ code: 'custom', path: ['allowlist'], message: problem });
      for (const [index, { command, sha256 }] of (allowlist ?? []).entries()) {
        const isPinned = allowlist?.some((other) => other.command === command && other.sha256 !== undefined);
        if (sha256 !== undefined || !isPinned) continue;
        const message = `lets any file be ${command}, which another entry pins: leave one of the two out`;
        context.addIssue({ code: 'custom', path: ['allowlist', index], message });
      }
    })
    .transform(
      ({ policyType, allowlist }): PluginPolicy => ({
        policyType,
        ...(allowlist ? { allowlist: allowlist.map(toEntry) } : {}),
      }),
    )
    .default({ policyType: 'AllowAll' }),
  hardened: flag,
  watchProviderFile: flag,
  onChange: z.custom<(change: ProviderFileChange) => void>(isFunction, { error: 'must be a function' }).optional(),
  metrics: z.instanceof(CredentialMetrics, { error: 'must be new CredentialMetrics({ registry })' }).optional(),
});

function toEntry({ command, sha256 }: { command: string; sha256?: string | undefined }): PluginAllowlistEntry {
  return { command, ...(sha256 === undefined ? {} : { sha256 }) };
}

function allowlistProblem(policyType: PluginPolicyType, allowlist: readonly object[] | undefined): string | undefined {
  if (policyType !== 'Allowlist')
    return allowlist ? `cannot stand beside ${policyType}: set policyType to Allowlist` : undefined;
  if (!allowlist) return 'is missing: name the plugins that may be run';
  return allowlist.length === 0
    ? 'is empty: name the plugins that may be run, or set policyType to DenyAll'
    : undefined;
}

/** @internal Every option with its default. Throws a `ConfigurationError` that names each bad one. */
export function parseOptions(options: CredentialProvidersOptions): z.output<typeof optionsSchema> {
  const settings = parseOptionsWith(optionsSchema, options);
  const { logger, onChange } = settings;
  const report = (message: string) => logger.warn({}, message);
  const told = onChange && ((change: ProviderFileChange) => callSafely('onChange', () => onChange(change), report));
  const safe = { ...settings, ...(told ? { onChange: told } : {}) };
  if (!settings.hardened) return safe;
  const problems: Problem[] = (['strictPluginFiles', 'cleanEnvironment'] as const)
    .filter((name) => options[name] === false)
    .map((path) => ({ path, message: 'is false, and hardened sets it: leave one of the two out' }));
  if (settings.pluginPolicy.policyType === 'AllowAll') {
    const flags = '--clusterprofile-plugin-policy and --clusterprofile-plugin-allowlist';
    const message = `is AllowAll, and hardened asks for Allowlist: name the plugins that may be run (flags ${flags})`;
    problems.push({ path: 'pluginPolicy', message });
  }
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'options', problems);
  return { ...safe, strictPluginFiles: true, cleanEnvironment: true };
}
