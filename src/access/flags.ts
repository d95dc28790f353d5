import type { Problem } from '../errors.ts';
import { finish, flagError, readOptions, readPolicies, readProviders } from './flag-providers.ts';
import { nearest } from './nearest.ts';
import { type ConfiguredProvider, cliArgsPolicies, envVarsPolicies } from './provider.ts';

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
} as const;

type FlagName = keyof typeof flagOptions;

/** The values of our flags, as `parseArgs` returns them; other flags may stand beside them. */
export type FlagValues = {
  readonly [K in FlagName]?: (typeof flagOptions)[K] extends { readonly multiple: true }
    ? readonly string[]
    : (typeof flagOptions)[K] extends { readonly type: 'boolean' }
      ? boolean
      : string;
};

/** What the flags say: the providers they configure, and the file that configures more. */
export interface ParsedFlags {
  readonly providers: readonly ConfiguredProvider[];
  readonly providerFile?: string;
  readonly watchProviderFile: boolean;
  readonly hardened: boolean;
  /** Not validated yet: the option of the same shape is. */
  readonly pluginPolicy?: { readonly policyType: string; readonly allowlist?: readonly { readonly command: string }[] };
}

/** Picks our flags out of an argv and leaves every other argument alone. One leading dash is as good as two. */
export function pickFlags(argv: readonly string[]): FlagValues {
  const repeated = new Map<FlagName, string[]>();
  const switches = new Map<FlagName, boolean>();
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] ?? '';
    if (argument === '--') break;
    const match = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(argument);
    const name = match?.[1];
    if (!match || !isFlagName(name)) continue;
    if (flagOptions[name].type === 'boolean') {
      if (match[2] !== undefined && !['true', 'false'].includes(match[2])) {
        throw flagError([{ path: argument, message: 'must be true or false' }]);
      }
      switches.set(name, match[2] !== 'false');
      continue;
    }
    const next = argv[i + 1];
    if (match[2] === undefined && (next === undefined || isOurFlag(next))) {
      throw flagError([{ path: argument, message: `needs a value: --${name} ${examples[name]}` }]);
    }
    if (match[2] === undefined) i += 1;
    repeated.set(name, [...(repeated.get(name) ?? []), match[2] ?? next ?? '']);
  }
  const single = new Map<FlagName, string>();
  for (const name of ['clusterprofile-provider-file', 'clusterprofile-plugin-policy'] as const) {
    const [first, ...others] = repeated.get(name) ?? [];
    repeated.delete(name);
    if (others.length > 0) {
      throw flagError([{ path: `--${name}`, message: `is given ${others.length + 1} times: give it once` }]);
    }
    if (first !== undefined) single.set(name, first);
  }
  return Object.fromEntries([...repeated, ...single, ...switches]);
}

const policyFlags = [
  { name: 'clusterprofile-sourced-cli-args-policy', field: 'profileSourcedCLIArgsPolicy', policies: cliArgsPolicies },
  { name: 'clusterprofile-sourced-env-vars-policy', field: 'profileSourcedEnvVarsPolicy', policies: envVarsPolicies },
] as const;

const watchFlag = 'clusterprofile-watch-provider-file';

/** Turns the flags into providers. Reports every malformed flag in one error. */
export function parseFlags(values: FlagValues): ParsedFlags {
  const problems: Problem[] = [];
  const flags = checkTypes(values, problems);
  const providers = readProviders(flags('clusterprofile-access-provider'), problems);
  readOptions(flags('clusterprofile-access-provider-option'), providers, problems);
  for (const flag of policyFlags) readPolicies(flags(flag.name), flag, providers, problems);
  const [providerFile] = flags('clusterprofile-provider-file');
  if (providerFile === '')
    problems.push({ path: '--clusterprofile-provider-file', message: 'needs the path of a file' });
  const watchProviderFile = values[watchFlag] === true;
  if (watchProviderFile && providerFile === undefined) {
    problems.push({ path: `--${watchFlag}`, message: 'has no file to watch: give --clusterprofile-provider-file' });
  }
  const [policyType] = flags('clusterprofile-plugin-policy');
  const allowlist = flags('clusterprofile-plugin-allowlist');
  const policyProblem = flagPolicyProblem(policyType, allowlist);
  if (policyProblem) problems.push(policyProblem);
  if (problems.length > 0) throw flagError(problems);
  return {
    providers: [...providers.values()].map((draft) => finish(draft)),
    ...(providerFile === undefined ? {} : { providerFile }),
    watchProviderFile,
    hardened: values['clusterprofile-hardened'] === true,
    ...(policyType === undefined
      ? {}
      : {
          pluginPolicy: {
            policyType,
            ...(allowlist.length > 0 ? { allowlist: allowlist.map((command) => ({ command })) } : {}),
          },
        }),
  };
}

function flagPolicyProblem(policyType: string | undefined, allowlist: readonly string[]): Problem | undefined {
  const flag = '--clusterprofile-plugin-policy';
  if (policyType === undefined) {
    if (allowlist.length === 0) return undefined;
    return { path: '--clusterprofile-plugin-allowlist', message: `does nothing without ${flag} Allowlist: give both` };
  }
  if (policyTypes.includes(policyType)) return undefined;
  const meant = nearest(policyType, policyTypes);
  const hint = meant ? ` (did you mean ${meant}?)` : '';
  return { path: `${flag} ${JSON.stringify(policyType)}`, message: `must be ${policyTypes.join(', ')}${hint}` };
}

const policyTypes = ['AllowAll', 'DenyAll', 'Allowlist'];

const examples: { readonly [K in FlagName]: string } = {
  'clusterprofile-access-provider': `"google='/usr/bin/gke-gcloud-auth-plugin --flag value'"`,
  'clusterprofile-access-provider-option': 'google=execConfig.apiVersion=client.authentication.k8s.io/v1beta1',
  'clusterprofile-provider-file': '/etc/clusterprofile/providers.yaml',
  'clusterprofile-sourced-cli-args-policy': 'google=Append',
  'clusterprofile-sourced-env-vars-policy': 'google=AppendIfNotExists',
  'clusterprofile-watch-provider-file': '',
  'clusterprofile-hardened': '',
  'clusterprofile-plugin-policy': 'Allowlist',
  'clusterprofile-plugin-allowlist': '/usr/bin/gke-gcloud-auth-plugin',
};

function isFlagName(name: string | undefined): name is FlagName {
  return name !== undefined && Object.hasOwn(flagOptions, name);
}

function isOurFlag(argument: string): boolean {
  return isFlagName(/^--?([^=]+)/.exec(argument)?.[1]);
}

function checkTypes(values: FlagValues, problems: Problem[]): (name: FlagName) => readonly string[] {
  const read = (name: FlagName): readonly string[] => {
    const value: unknown = values[name];
    const list: readonly unknown[] = value === undefined ? [] : Array.isArray(value) ? value : [value];
    return list.flatMap((item) => (typeof item === 'string' ? [item] : []));
  };
  for (const name of Object.keys(flagOptions).filter(isFlagName)) {
    const value: unknown = values[name];
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (flagOptions[name].type === 'boolean') {
      if (value !== undefined && typeof value !== 'boolean') {
        problems.push({ path: `--${name}`, message: 'takes no value: it is there or not' });
      }
    } else if (value !== undefined && !list.every((item) => typeof item === 'string')) {
      problems.push({ path: `--${name}`, message: `must be text: --${name} ${examples[name]}` });
    }
  }
  return read;
}
