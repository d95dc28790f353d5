import { ConfigurationError, type Problem } from '../errors/index.ts';
import { longestMs } from '../util/abortable.ts';
import { isString } from '../util/guards.ts';
import { parseDuration } from './duration.ts';
import { finish, readOptions, readPolicies, readProviders } from './flag-providers.ts';
import { type PluginPolicy, pluginPolicySchema, policyTypes } from './plugin-policy.ts';
import { cliArgsPolicies, envVarsPolicies } from './provider.ts';
import { nearest } from './schema-problems.ts';

/**
 * This package's flags, in the form that `parseArgs` of `node:util` takes as `options`.
 *
 * @example
 * const { values } = parseArgs({ options: { ...flagOptions, port: { type: 'string' } } });
 * const providers = CredentialProviders.fromFlags(values);
 */
export const flagOptions = {
  'clusterprofile-access-provider': { type: 'string', multiple: true },
  'clusterprofile-access-provider-option': { type: 'string', multiple: true },
  'clusterprofile-provider-file': { type: 'string' },
  'clusterprofile-sourced-cli-args-policy': { type: 'string', multiple: true },
  'clusterprofile-sourced-env-vars-policy': { type: 'string', multiple: true },
  'clusterprofile-watch-provider-file': { type: 'boolean' },
  'clusterprofile-hardened': { type: 'boolean' },
  'clusterprofile-plugin-policy': { type: 'string' },
  'clusterprofile-plugin-allowlist': { type: 'string', multiple: true },
  'clusterprofile-plugin-timeout': { type: 'string' },
  'clusterprofile-max-concurrent-runs': { type: 'string' },
  'clusterprofile-max-response-bytes': { type: 'string' },
  'clusterprofile-strict-plugin-files': { type: 'boolean' },
  'clusterprofile-clean-environment': { type: 'boolean' },
} as const;

type FlagName = keyof typeof flagOptions;

/** Boolean flags, and the option that each sets. */
export const switches = {
  'clusterprofile-watch-provider-file': 'watchProviderFile',
  'clusterprofile-hardened': 'hardened',
  'clusterprofile-strict-plugin-files': 'strictPluginFiles',
  'clusterprofile-clean-environment': 'cleanEnvironment',
} as const satisfies Partial<Record<FlagName, string>>;

/** The values of our flags, as `parseArgs` returns them; other flags may be among them. */
export type FlagValues = {
  readonly [K in FlagName]?: (typeof flagOptions)[K] extends { readonly multiple: true }
    ? readonly string[]
    : (typeof flagOptions)[K] extends { readonly type: 'boolean' }
      ? boolean
      : string;
};

/** Options of `CredentialProviders` that a flag sets. */
export type FlaggedOptions = { readonly [K in (typeof switches)[keyof typeof switches]]?: boolean } & {
  readonly pluginTimeoutMs?: number;
  readonly maxConcurrentPlugins?: number;
  readonly maxResponseBytes?: number;
  readonly pluginPolicy?: PluginPolicy;
};

/**
 * Picks our flags from an argv; `rest` has every other argument. One leading dash means the same as two.
 */
export function pickFlags(argv: readonly string[]): {
  readonly values: FlagValues;
  readonly problems: readonly Problem[];
  readonly rest: readonly string[];
  /** Our flags as they were given, with their values. */
  readonly given: readonly string[];
} {
  const problems: Problem[] = [];
  const rest: string[] = [];
  const given: string[] = [];
  const values: Record<string, string | string[] | boolean> = {};
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] ?? '';
    if (argument === '--') {
      rest.push(...argv.slice(i));
      break;
    }
    const [, name, inline] = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(argument) ?? [];
    if (!isFlagName(name)) {
      const problem = name === undefined ? undefined : unknownFlag(name);
      if (problem) problems.push(problem);
      (problem ? given : rest).push(argument);
      continue;
    }
    given.push(argument);
    if (isSwitch(name)) {
      if (inline === undefined || ['true', 'false'].includes(inline)) values[name] = inline !== 'false';
      else problems.push({ path: argument, message: 'must be true or false' });
      continue;
    }
    const next = argv[i + 1];
    const value = inline ?? (next === undefined || isOurFlag(next) ? undefined : next);
    if (value === undefined) {
      problems.push({ path: argument, message: `needs a value: --${name} ${examples[name]}` });
      continue;
    }
    if (inline === undefined) {
      given.push(value);
      i += 1;
    }
    if ('multiple' in flagOptions[name]) values[name] = [...[values[name] ?? []].flat(), value].map(String);
    else if (name in values) problems.push({ path: `--${name}`, message: 'is given more than once: give it once' });
    else values[name] = value;
  }
  return { values, problems, rest, given };
}

/** Reports a misspelt flag, which would otherwise be ignored: a misspelt policy must not allow what it should deny. */
function unknownFlag(name: string): Problem | undefined {
  const [, rest] = /^clusterprofile[-_](.*)$/i.exec(name) ?? [];
  if (rest === undefined) return undefined;
  const known = Object.keys(flagOptions).map((flag) => flag.slice('clusterprofile-'.length));
  const meant = nearest(rest.replaceAll('_', '-'), known);
  const all = known.map((flag) => `--clusterprofile-${flag}`).join(', ');
  const hint = meant ? ` (did you mean --clusterprofile-${meant}?)` : `; known are ${all}`;
  return { path: `--${name}`, message: `is not a flag${hint}` };
}

const policyFlags = [
  { name: 'clusterprofile-sourced-cli-args-policy', field: 'profileSourcedCLIArgsPolicy', policies: cliArgsPolicies },
  { name: 'clusterprofile-sourced-env-vars-policy', field: 'profileSourcedEnvVarsPolicy', policies: envVarsPolicies },
] as const;

/** @internal Turns flags into providers and options. Reports every malformed flag, and the problems found `before`, in one error. */
export function parseFlags(values: FlagValues, before: readonly Problem[] = []) {
  const problems: Problem[] = [...before, ...wrongValues(values)];
  const flags: Flags = (name) => [values[name]].flat().filter(isString);
  const providers = readProviders(flags('clusterprofile-access-provider'), problems);
  readOptions(flags('clusterprofile-access-provider-option'), providers, problems);
  for (const flag of policyFlags) readPolicies(flags(flag.name), flag, providers, problems);
  const [providerFile] = flags('clusterprofile-provider-file');
  if (providerFile === '')
    problems.push({ path: '--clusterprofile-provider-file', message: 'needs the path of a file' });
  if (values['clusterprofile-watch-provider-file'] === true && providerFile === undefined) {
    const message = 'has no file to watch: give --clusterprofile-provider-file';
    problems.push({ path: '--clusterprofile-watch-provider-file', message });
  }
  const options = readSettings(values, flags, problems);
  const finished = [...providers].flatMap(([name, draft]) => finish(name, draft, problems) ?? []);
  if (problems.length > 0) throw new ConfigurationError('FLAG_INVALID', 'flags', problems);
  return { providers: finished, providerFile, options };
}

type Flags = (name: FlagName) => readonly string[];

function readSettings(values: FlagValues, flags: Flags, problems: Problem[]): FlaggedOptions {
  const switched = Object.entries(switches).flatMap(([flag, option]) => {
    const value: unknown = Reflect.get(values, flag);
    return typeof value === 'boolean' ? [[option, value]] : [];
  });
  const read = <T>(flag: FlagName, parse: (text: string) => T | undefined, rule: string): T | undefined => {
    const [text] = flags(flag);
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) {
      problems.push({ path: `--${flag} ${JSON.stringify(text)}`, message: `must be ${rule}` });
    }
    return value;
  };
  const duration = 'a duration as Go writes it, such as 30s or 1m30s, from 1ms to 596h';
  const pluginTimeoutMs = read('clusterprofile-plugin-timeout', toTimeout, duration);
  const maxConcurrentPlugins = read('clusterprofile-max-concurrent-runs', toCount, 'a whole number of 1 or more');
  const maxResponseBytes = read('clusterprofile-max-response-bytes', toCount, 'a whole number of 1 or more');
  const toPolicyType = (text: string) => policyTypes.find((type) => type === text);
  const policyType = read('clusterprofile-plugin-policy', toPolicyType, policyTypes.join(', '));
  const allowlist = flags('clusterprofile-plugin-allowlist');
  const list = allowlist.length > 0 ? { allowlist: allowlist.map(toAllowlistEntry) } : {};
  const [policy = 'AllowAll'] = flags('clusterprofile-plugin-policy');
  for (const { path, message } of pluginPolicySchema.safeParse({ policyType: policy, ...list }).error?.issues ?? []) {
    if (path[0] !== 'allowlist') continue;
    const entry = typeof path[1] === 'number' ? ` ${JSON.stringify(allowlist[path[1]])}` : '';
    problems.push({ path: `--clusterprofile-plugin-allowlist${entry}`, message });
  }
  return {
    ...Object.fromEntries(switched),
    ...(pluginTimeoutMs === undefined ? {} : { pluginTimeoutMs }),
    ...(maxConcurrentPlugins === undefined ? {} : { maxConcurrentPlugins }),
    ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
    ...(policyType === undefined ? {} : { pluginPolicy: { policyType, ...list } }),
  };
}

function toTimeout(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms >= 1 && ms <= longestMs ? ms : undefined;
}

function toCount(text: string): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) && value !== 0 ? value : undefined;
}

/** `/plugins/x`, or `/plugins/x@sha256:DIGEST`. */
function toAllowlistEntry(entry: string): { readonly command: string; readonly sha256?: string } {
  const [, command, sha256] = /^(.*)@sha256:(.*)$/s.exec(entry) ?? [];
  return command === undefined || sha256 === undefined ? { command: entry } : { command, sha256 };
}

const examples: { readonly [K in Exclude<FlagName, keyof typeof switches>]: string } = {
  'clusterprofile-access-provider': `"google='/usr/bin/gke-gcloud-auth-plugin --flag value'"`,
  'clusterprofile-access-provider-option': 'google=execConfig.apiVersion=client.authentication.k8s.io/v1beta1',
  'clusterprofile-provider-file': '/etc/clusterprofile/providers.yaml',
  'clusterprofile-sourced-cli-args-policy': 'google=Append',
  'clusterprofile-sourced-env-vars-policy': 'google=AppendIfNotExists',
  'clusterprofile-plugin-policy': 'Allowlist',
  'clusterprofile-plugin-allowlist': '/usr/bin/gke-gcloud-auth-plugin',
  'clusterprofile-plugin-timeout': '30s',
  'clusterprofile-max-concurrent-runs': '16',
  'clusterprofile-max-response-bytes': '67108864',
};

function isFlagName(name: string | undefined): name is FlagName {
  return name !== undefined && Object.hasOwn(flagOptions, name);
}

function isSwitch(name: FlagName): name is keyof typeof switches {
  return Object.hasOwn(switches, name);
}

function isOurFlag(argument: string): boolean {
  return isFlagName(/^--?([^=]+)/.exec(argument)?.[1]);
}

/** What a caller without types has given, and `parseArgs` would not. */
function wrongValues(values: FlagValues): readonly Problem[] {
  return Object.entries<unknown>(values).flatMap(([name, value]) => {
    if (!isFlagName(name)) return unknownFlag(name) ?? [];
    const path = `--${name}`;
    if (value === undefined) return [];
    if (isSwitch(name)) {
      return typeof value === 'boolean' ? [] : { path, message: 'takes no value: it is there or not' };
    }
    const isRight = [value].flat().every(isString);
    return isRight ? [] : { path, message: `must be text: --${name} ${examples[name]}` };
  });
}
