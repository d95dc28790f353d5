import { z } from 'zod';
import { nearest } from './access/nearest.ts';
import { ConfigurationError } from './errors.ts';
import { allowlistEntryProblem, type PluginPolicy, type PluginPolicyType } from './exec/plugin-policy.ts';
import { defaultMaxConcurrentRuns } from './exec/run-limit.ts';
import { defaultLogger, type Logger } from './logger.ts';
import { CredentialMetrics } from './metrics.ts';

/** Options of every way to make a `CredentialProviders`; each is validated at construction. */
export interface CredentialProvidersOptions {
  /** Milliseconds until a plugin that has not answered is killed. Default: 60_000. */
  readonly timeoutMs?: number;
  /** Milliseconds that a connection and its credential are kept when nobody leases them. Default: 300_000. */
  readonly idleTimeoutMs?: number;
  /** Plugins that run at once in this process. Default: four for each core. */
  readonly maxConcurrentRuns?: number;
  /** Treat a 403 as a 401, as KEP-541 did in 2019; held back as well. Default: false. */
  readonly refreshOnForbidden?: boolean;
  /** Give plugins nothing of the process's environment but `PATH`, `HOME` and what is configured. Default: false. */
  readonly cleanEnvironment?: boolean;
  /** Which plugins may be run at all, checked before every run. Default: all. */
  readonly pluginPolicy?: PluginPolicy;
  /** Refuse a plugin that others than root and the process's user could replace; default: warn once. */
  readonly strictPluginFiles?: boolean;
  /** Read the provider file again when it changes. Default: false. */
  readonly watchProviderFile?: boolean;
  /** With `watchProviderFile`: told when a changed file has taken effect. */
  readonly onChange?: (change: ProviderFileChange) => void;
  /** Is told of plugin runs and credentials: `new CredentialMetrics({ registry })`. */
  readonly metrics?: CredentialMetrics;
  /** Default: warnings go to stderr, each of them once; nothing else is said. */
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

/** setTimeout takes no more. */
const longestMs = 2 ** 31 - 1;

const policyTypes = ['AllowAll', 'DenyAll', 'Allowlist'] as const;
const isFunction = (value: unknown) => typeof value === 'function';
const milliseconds = (least: number) => {
  const error = `must be milliseconds from ${least} to ${longestMs}`;
  return z.number({ error }).min(least, { error }).max(longestMs, { error });
};
const optionsSchema = z.strictObject({
  timeoutMs: milliseconds(1).default(60_000),
  idleTimeoutMs: milliseconds(0).default(300_000),
  maxConcurrentRuns: z
    .int({ error: 'must be a whole number of 1 or more' })
    .min(1, { error: 'must be a whole number of 1 or more' })
    .default(defaultMaxConcurrentRuns),
  refreshOnForbidden: z.boolean({ error: 'must be true or false' }).default(false),
  cleanEnvironment: z.boolean({ error: 'must be true or false' }).default(false),
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
              },
              { error: 'must be an object with command' },
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
    })
    .transform(({ policyType, allowlist }): PluginPolicy => ({ policyType, ...(allowlist ? { allowlist } : {}) }))
    .default({ policyType: 'AllowAll' }),
  strictPluginFiles: z.boolean({ error: 'must be true or false' }).default(false),
  watchProviderFile: z.boolean({ error: 'must be true or false' }).default(false),
  onChange: z.custom<(change: ProviderFileChange) => void>(isFunction, { error: 'must be a function' }).optional(),
  metrics: z.instanceof(CredentialMetrics, { error: 'must be new CredentialMetrics({ registry })' }).optional(),
  logger: z
    .custom<Logger>((value) => typeof value === 'object' && value !== null && isFunction(Reflect.get(value, 'warn')), {
      error: 'must be an object with a function warn(fields, message)',
    })
    .default(defaultLogger),
  clock: z
    .custom<() => number>(isFunction, { error: 'must be a function that returns milliseconds since 1970' })
    .default(() => Date.now),
});

function allowlistProblem(policyType: PluginPolicyType, allowlist: readonly object[] | undefined): string | undefined {
  if (policyType !== 'Allowlist')
    return allowlist ? `cannot stand beside ${policyType}: set policyType to Allowlist` : undefined;
  if (!allowlist) return 'is missing: name the plugins that may be run';
  return allowlist.length === 0
    ? 'is empty: name the plugins that may be run, or set policyType to DenyAll'
    : undefined;
}

/** Every option with its default. Throws a `ConfigurationError` that names each bad one. */
export function parseOptions(options: CredentialProvidersOptions): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  const known = Object.keys(optionsSchema.shape);
  const problems = parsed.error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }];
    return issue.keys.map((key) => {
      const meant = nearest(key, known);
      return {
        path: key,
        message: `is not an option${meant ? ` (did you mean ${meant}?)` : `; known are ${known.join(', ')}`}`,
      };
    });
  });
  throw new ConfigurationError('OPTION_INVALID', 'options', problems);
}
