import { parseDocument } from 'yaml';
import { ConfigurationError, type Problem } from '../errors.ts';
import { nearest } from './nearest.ts';
import {
  type ConfiguredProvider,
  cliArgsPolicies,
  envVarsPolicies,
  parseProviders,
  providerFieldPaths,
} from './provider.ts';
import { splitWords, unwrapQuotes } from './words.ts';

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
  /** Not validated yet: the option of the same shape is. */
  readonly pluginPolicy?: { readonly policyType: string; readonly allowlist?: readonly { readonly command: string }[] };
}

/** Picks our flags out of an argv and leaves every other argument alone. One leading dash is as good as two. */
export function pickFlags(argv: readonly string[]): FlagValues {
  const repeated = new Map<FlagName, string[]>();
  let watch: boolean | undefined;
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] ?? '';
    if (argument === '--') break;
    const match = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(argument);
    const name = match?.[1];
    if (!match || !isFlagName(name)) continue;
    if (name === watchFlag) {
      if (match[2] !== undefined && !['true', 'false'].includes(match[2])) {
        throw flagError([{ path: argument, message: 'must be true or false' }]);
      }
      watch = match[2] !== 'false';
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
  return {
    ...Object.fromEntries(repeated),
    ...Object.fromEntries(single),
    ...(watch === undefined ? {} : { [watchFlag]: watch }),
  };
}

const watchFlag = 'clusterprofile-watch-provider-file';

/** Turns the flags into providers. Reports every malformed flag in one error. */
export function parseFlags(values: FlagValues): ParsedFlags {
  const problems: Problem[] = [];
  const flags = checkTypes(values, problems);
  const providers = readProviders(flags('clusterprofile-access-provider'), problems);
  readOptions(flags('clusterprofile-access-provider-option'), providers, problems);
  readPolicies('clusterprofile-sourced-cli-args-policy', cliArgsPolicies, flags, providers, problems);
  readPolicies('clusterprofile-sourced-env-vars-policy', envVarsPolicies, flags, providers, problems);
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
  'clusterprofile-plugin-policy': 'Allowlist',
  'clusterprofile-plugin-allowlist': '/usr/bin/gke-gcloud-auth-plugin',
};

/** A provider on its way from the flags, in the provider file's shape. */
interface Draft {
  readonly flag: string;
  readonly name: string;
  readonly fields: Map<string, unknown>;
  /** Which flag set a field, so that a second one is an error. */
  readonly setBy: Map<string, string>;
}

function isFlagName(name: string | undefined): name is FlagName {
  return name !== undefined && Object.hasOwn(flagOptions, name);
}

function isOurFlag(argument: string): boolean {
  return isFlagName(/^--?([^=]+)/.exec(argument)?.[1]);
}

function flagError(problems: readonly Problem[]): ConfigurationError {
  return new ConfigurationError('FLAG_INVALID', 'flags', problems);
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
    if (name === watchFlag) {
      if (value !== undefined && typeof value !== 'boolean') {
        problems.push({ path: `--${name}`, message: 'takes no value: it is there or not' });
      }
    } else if (value !== undefined && !list.every((item) => typeof item === 'string')) {
      problems.push({ path: `--${name}`, message: `must be text: --${name} ${examples[name]}` });
    }
  }
  return read;
}

function readProviders(given: readonly string[], problems: Problem[]): ReadonlyMap<string, Draft> {
  const drafts = new Map<string, Draft>();
  for (const value of given) {
    const flag = `--clusterprofile-access-provider ${JSON.stringify(value)}`;
    const problem = (message: string) => problems.push({ path: flag, message });
    const equals = value.indexOf('=');
    const name = value.slice(0, Math.max(equals, 0)).trim();
    if (equals < 0) {
      problem('has no "=": write the access type, "=", then the command');
      continue;
    }
    if (name === '') {
      problem('has no access type before the "="');
      continue;
    }
    if (drafts.has(name)) {
      problem(`the access type "${name}" is configured twice: give each type once`);
      continue;
    }
    const split = splitWords(unwrapQuotes(value.slice(equals + 1).trim()));
    if ('unclosed' in split) {
      problem(`the quote ${split.unclosed} is never closed`);
      continue;
    }
    const [command, ...args] = split.words;
    if (!command) {
      problem(`has no command after "${name}=": name the plugin's executable`);
      continue;
    }
    if (value.includes('\0')) {
      problem('holds a NUL character, which no process can be given');
      continue;
    }
    const fields = new Map<string, unknown>([
      ['execConfig.command', command],
      ['execConfig.args', args],
    ]);
    drafts.set(name, { flag, name, fields, setBy: new Map() });
  }
  return drafts;
}

function readOptions(given: readonly string[], drafts: ReadonlyMap<string, Draft>, problems: Problem[]): void {
  for (const value of given) {
    const flag = `--clusterprofile-access-provider-option ${JSON.stringify(value)}`;
    const problem = (message: string) => problems.push({ path: flag, message });
    const match = /^([^=]*)=([^=]*)=([\s\S]*)$/.exec(value);
    if (!match) {
      problem('must be the access type, "=", a field of the provider file, "=", its value');
      continue;
    }
    const [, name = '', field = '', text = ''] = match;
    const draft = drafts.get(name.trim());
    if (!draft) {
      problem(unknownType(name.trim(), drafts));
      continue;
    }
    if (field === 'name' || field === 'execConfig.command' || field === 'execConfig.args') {
      problem(`"${field}" is already said by --clusterprofile-access-provider: change it there`);
      continue;
    }
    if (!providerFieldPaths.includes(field)) {
      const meant = nearest(field, providerFieldPaths);
      problem(`"${field}" is not a field of a provider${meant ? ` (did you mean ${meant}?)` : ''}`);
      continue;
    }
    if (draft.setBy.has(field)) {
      problem(`"${field}" of ${name} is set twice`);
      continue;
    }
    const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
    if (document.errors.length > 0) {
      problem(`the value of "${field}" is not YAML`);
      continue;
    }
    draft.fields.set(field, document.toJS());
    draft.setBy.set(field, flag);
    const fault = fieldFault(draft, field);
    if (fault) problem(fault);
  }
}

/** The first thing that is wrong with a provider's field, in the provider file's words. */
function fieldFault(draft: Draft, field: string): string | undefined {
  const parsed = parseProviders({ providers: [shape(draft)] });
  if (!('problems' in parsed)) return undefined;
  const path = `providers[0].${field}`;
  const fault = parsed.problems.find((problem) => problem.path.startsWith(path));
  if (!fault) return undefined;
  const rest = fault.path.slice(path.length);
  draft.fields.delete(field);
  return `${field}${rest} ${fault.message}`;
}

function readPolicies(
  flagName: 'clusterprofile-sourced-cli-args-policy' | 'clusterprofile-sourced-env-vars-policy',
  policies: readonly string[],
  flags: (name: FlagName) => readonly string[],
  drafts: ReadonlyMap<string, Draft>,
  problems: Problem[],
): void {
  const field =
    flagName === 'clusterprofile-sourced-cli-args-policy'
      ? 'profileSourcedCLIArgsPolicy'
      : 'profileSourcedEnvVarsPolicy';
  let bare: string | undefined;
  for (const value of flags(flagName)) {
    const flag = `--${flagName} ${JSON.stringify(value)}`;
    const problem = (message: string) => problems.push({ path: flag, message });
    const equals = value.indexOf('=');
    const policy = value.slice(equals + 1).trim();
    if (!policies.includes(policy)) {
      const meant = nearest(policy, policies);
      problem(`"${policy}" is not a policy: write ${policies.join(' or ')}${meant ? ` (did you mean ${meant}?)` : ''}`);
      continue;
    }
    if (equals < 0) {
      if (bare !== undefined) problem('a policy for every provider is given twice');
      else if (drafts.size === 0) problem('no flag configures a provider that it could apply to');
      bare = policy;
      continue;
    }
    const name = value.slice(0, equals).trim();
    const draft = drafts.get(name);
    if (!draft) problem(name === '' ? 'has no access type before the "="' : unknownType(name, drafts));
    else if (draft.setBy.has(field)) problem(`the policy of "${name}" is set twice`);
    else {
      draft.fields.set(field, policy);
      draft.setBy.set(field, flag);
    }
  }
  if (bare === undefined) return;
  for (const { fields, setBy } of drafts.values()) {
    if (!setBy.has(field)) fields.set(field, bare);
  }
}

function unknownType(name: string, drafts: ReadonlyMap<string, Draft>): string {
  const names = [...drafts.keys()];
  const meant = nearest(name, names);
  const known = names.length === 0 ? 'no flag configures any type' : `flags configure ${names.join(', ')}`;
  return `"${name}" is configured by no --clusterprofile-access-provider${meant ? ` (did you mean ${meant}?)` : `: ${known}`}`;
}

/** A draft in the provider file's shape, with the defaults of a flag-configured provider. */
function shape({ name, fields }: Draft): object {
  const entry: Record<string, unknown> = { name };
  const execConfig: Record<string, unknown> = {
    apiVersion: 'client.authentication.k8s.io/v1',
    provideClusterInfo: true,
    interactiveMode: 'Never',
  };
  for (const [field, value] of fields) {
    const key = field.replace(/^execConfig\./, '');
    (key === field ? entry : execConfig)[key] = value;
  }
  return { ...entry, execConfig };
}

function finish(draft: Draft): ConfiguredProvider {
  const parsed = parseProviders({ providers: [shape(draft)] });
  if ('problems' in parsed) throw flagError(parsed.problems.map(({ message }) => ({ path: draft.flag, message })));
  const [provider] = parsed.providers;
  if (!provider) throw flagError([{ path: draft.flag, message: 'configures no provider' }]);
  if (draft.setBy.has('execConfig.apiVersion')) return provider;
  // The KEP's own example plugin answers in v1beta1 whatever it is asked, and both versions have the same fields.
  const acceptedVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
  return { ...provider, acceptedVersions };
}
