import { z } from 'zod';
import { type PluginPolicy, pluginPolicySchema } from '../access/plugin-policy.ts';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import type { CredentialMetrics } from '../observability/metrics.ts';
import { isObject } from '../util/guards.ts';
import { flag, milliseconds, parseOptionsWith, sharedOptions, wholeNumber } from './option-schemas.ts';

/** Options of `CredentialProviders`, however it is created. All are validated at construction. Times are 2^31 - 1 ms at most. */
export interface CredentialProvidersOptions {
  /**
   * Milliseconds until a plugin that has not answered is killed: 1 or more.
   * @default 60_000
   */
  readonly pluginTimeoutMs?: number | undefined;
  /**
   * Milliseconds until a connection attempt fails: 1 or more.
   * @default 10_000
   */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Milliseconds, 1 or more, until one attempt at a request fails, its body and the plugin's run included. Watches, followed logs and other long-running
   * requests are exempt.
   * @default none, as in client-go
   */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * The most bytes of one response that a generated client accepts, uncompressed: 1 or more.
   * @default 512 MiB
   */
  readonly maxResponseBytes?: number | undefined;
  /**
   * Milliseconds that an unused connection and its credential are kept: 0 or more.
   * @default 300_000
   */
  readonly idleTimeoutMs?: number | undefined;
  /**
   * The most plugins that run at once: 1 or more. Of several limits in one process, the largest counts. Plugins that get the terminal run one
   * after the other, and do not count.
   * @default four for each core
   */
  readonly maxConcurrentPlugins?: number | undefined;
  /**
   * Treat a 403 as a 401, as KEP-541 did in 2019, with the same cooldown.
   * @default false
   */
  readonly refreshOnForbidden?: boolean | undefined;
  /**
   * Pass plugins only `PATH`, `HOME` and configured variables of the process's environment.
   * @default false
   */
  readonly cleanEnvironment?: boolean | undefined;
  /**
   * The plugins that may run, checked before every run.
   * @default all
   */
  readonly pluginPolicy?: PluginPolicy | undefined;
  /**
   * Refuse a plugin that users other than root and the process's own could replace, instead of warning once.
   * @default false
   */
  readonly strictPluginFiles?: boolean | undefined;
  /**
   * The strictest settings: sets `strictPluginFiles` and `cleanEnvironment`, requires a `pluginPolicy` other than `AllowAll`, and
   * rules on every provider: `allowedServers`, and `allowedArgs` and `allowedEnvVars` where profiles may add some.
   * `allowInsecureTLS` is refused.
   * @default false
   */
  readonly hardened?: boolean | undefined;
  /**
   * Reload the provider file when it changes.
   * @default false
   */
  readonly watchProviderFile?: boolean | undefined;
  /** Counts plugin runs and credentials: `new CredentialMetrics({ registry })`. */
  readonly metrics?: CredentialMetrics | undefined;
  /**
   * Receives log lines.
   * @default warnings go to stderr
   */
  readonly logger?: Logger | undefined;
  /** @internal For tests. Milliseconds that open streams may continue after their certificate or provider was replaced. */
  readonly drainTimeoutMs?: number | undefined;
  /** @internal For tests. The time, in milliseconds since 1970. Default: `Date.now`. */
  readonly clock?: (() => number) | undefined;
}

const optionsSchema = z.strictObject({
  ...sharedOptions,
  idleTimeoutMs: milliseconds(0).default(300_000),
  connectTimeoutMs: milliseconds(1).default(10_000),
  requestTimeoutMs: milliseconds(1).optional(),
  maxResponseBytes: wholeNumber.default(512 * 1024 * 1024),
  drainTimeoutMs: milliseconds(0).default(3_600_000),
  refreshOnForbidden: flag,
  cleanEnvironment: flag,
  pluginPolicy: pluginPolicySchema.default({ policyType: 'AllowAll' }),
  hardened: flag,
  watchProviderFile: flag,
  // Not checked by its class, which would load prom-client into programs without metrics.
  metrics: z
    .custom<CredentialMetrics>((value) => isObject(value) && 'observer' in value, {
      error: 'must be new CredentialMetrics({ registry })',
    })
    .optional(),
});

/**
 * @internal Returns every option with its default.
 * @throws {ConfigurationError} that names each bad option
 */
export function parseOptions(options: CredentialProvidersOptions): z.output<typeof optionsSchema> {
  const settings = parseOptionsWith(optionsSchema, options);
  if (!settings.hardened) return settings;
  const problems: Problem[] = (['strictPluginFiles', 'cleanEnvironment'] as const)
    .filter((name) => options[name] === false)
    .map((path) => ({ path, message: 'is false, and hardened sets it: leave one of the two out' }));
  if (settings.pluginPolicy.policyType === 'AllowAll') {
    const flags = '--clusterprofile-plugin-policy and --clusterprofile-plugin-allowlist';
    const message = `is AllowAll, and hardened requires Allowlist: name the plugins that may be run (flags ${flags})`;
    problems.push({ path: 'pluginPolicy', message });
  }
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'options', problems);
  return { ...settings, strictPluginFiles: true, cleanEnvironment: true };
}
