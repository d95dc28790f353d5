/** What lint says of ClusterProfiles, of provider files, and of our flags in the containers of workloads. Pure. */
import { isAbsolute } from 'node:path';
import { parseFlags, pickFlags } from '../../access/flags.ts';
import {
  type ConfiguredProvider,
  hardeningProblems,
  parseProviderFile,
  providersSchema,
} from '../../access/provider-schema.ts';
import { keysOf } from '../../access/schema-problems.ts';
import { checkYaml, type Place } from '../../access/yaml-text.ts';
import { ConfigurationError, ProfileError } from '../../errors/index.ts';
import { parseOptions } from '../../options/options.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../../redaction/known-secrets.ts';
import { isLabel, isSubdomain } from '../../util/hosts.ts';
import { type Container, podSpecs, readContainer, textsOf } from '../pod-args.ts';
import { at, listAt, type Profile, textAt, tryToResolve, withoutProfile } from '../profile.ts';
import { type AdviceRule, type Linted, type Manifest, type Say, sayTo, toFindings } from './finding.ts';

export function lintClusterProfile({ content, file, placeOf }: Manifest, linted: Linted): void {
  const profile = content as Profile; // whatever it is: `resolve` checks what it reads
  const known = linted.providers;
  const say = sayTo(linted, file, (path) => ({ ...placeOf(keysOf(path)), path }));
  for (const [field, isValid, rule] of names) {
    const name = textAt(content, 'metadata', field);
    if (name !== undefined && !isValid(name)) say('error', 'NAME_INVALID', `metadata.${field}`, rule);
  }
  const offered = new Set(
    lists.flatMap((list) => listAt(content, 'status', list).flatMap((entry) => textAt(entry, 'name') ?? [])),
  );
  for (const name of offered) {
    const configured = known.filter((provider) => provider.name === name);
    for (const provider of configured.length > 0 ? configured : [asNew(name)]) lintEntry(profile, provider, say);
  }
  if (![...offered].some((name) => known.some((provider) => provider.name === name))) {
    const result = tryToResolve(profile, known);
    const error = result instanceof ProfileError ? result : undefined;
    const isMissing = error?.code === 'NO_MATCHING_PROVIDER';
    if (error && !isMissing) say('error', error.code, error.path, messageOf(error));
    else if (error && (known.length > 0 || offered.size === 0)) {
      // A profile that is applied has no status: the cluster manager writes it.
      const severity = at(content, 'status') === undefined ? 'note' : 'warning';
      say(severity, 'NO_PROVIDER', error.path, messageOf(error));
    }
  }
  if (listAt(content, 'status', 'credentialProviders').length > 0) {
    say('note', 'FIELD_DEPRECATED', 'status.credentialProviders', 'is the earlier name: write status.accessProviders');
  }
}

const names = [
  [
    'name',
    isSubdomain,
    'must be a DNS-1123 subdomain: a-z, 0-9, - and ., with a letter or digit at both ends of each part',
  ],
  [
    'namespace',
    isLabel,
    'must be a DNS-1123 label: a-z, 0-9 and -, with a letter or digit at both ends, 63 characters at most',
  ],
] as const;
const lists = ['accessProviders', 'credentialProviders'] as const;

/** A provider as an operator may write it first: it allows profiles everything that is safe, and ignores nothing. */
function asNew(name: string): ConfiguredProvider {
  const apiVersion = 'client.authentication.k8s.io/v1';
  return {
    name,
    execConfig: {
      apiVersion,
      command: 'plugin',
      args: [],
      env: [],
      provideClusterInfo: true,
      interactiveMode: 'Never',
    },
    profileSourcedCLIArgsPolicy: 'Append',
    profileSourcedEnvVarsPolicy: 'AppendIfNotExists',
    allowInsecureTLS: false,
  };
}

/** Why the provider would not serve the profile, or what of the profile it would not apply. */
function lintEntry(profile: Profile, provider: ConfiguredProvider, say: Say): void {
  const result = tryToResolve(profile, [provider]);
  if (result instanceof ProfileError) return say('error', result.code, result.path, messageOf(result));
  for (const { path, reason } of result.ignored) {
    say('warning', 'NOTHING_APPLIES', path, `is not applied: ${reason}`);
  }
}

/** The message without the profile's name and the path, which have fields of their own. */
function messageOf({ message, profile, path }: ProfileError): string {
  const text = withoutProfile(message, profile);
  return path !== '' && text.startsWith(`${path}: `) ? text.slice(path.length + 2) : text;
}

/** Lints a provider file, and keeps its providers. `place` is that of every finding, for a text that is a value in the file. */
export function lintProviders(text: string, file: string, linted: Linted, place?: Place): void {
  try {
    const providers = parseProviderFile(text, file);
    const { placeOf } = checkYaml(text, providersSchema);
    linted.providers.push(...providers);
    for (const [index, provider] of providers.entries()) {
      const find = (field: string) => {
        const path = `providers[${index}].${field}`;
        return { ...(place ?? placeOf(keysOf(path))), path };
      };
      adviseOn(provider, sayTo(linted, file, find));
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    linted.findings.push(...toFindings(error.problems, error.code, file, place));
  }
}

const secretAdvice =
  'looks like a secret, which everyone who reads the provider file sees: have the plugin read it from a file, or from a ' +
  "variable of the controller's environment";

/** All advice on a provider that the library accepts. */
function adviseOn(provider: ConfiguredProvider, report: Say): void {
  const { execConfig, allowedServers, allowedArgs, allowedEnvVars } = provider;
  const { command, args, apiVersion, provideClusterInfo } = execConfig;
  const say = (rule: AdviceRule, field: string, message: string) => report('warning', rule, field, message);
  if (!allowedServers && !provideClusterInfo) {
    const message =
      'the plugin gets no cluster information, so its credential goes to whatever server a profile names: list yours in ' +
      'allowedServers';
    say('NO_ALLOWED_SERVERS', 'allowedServers', message);
  }
  if (provider.profileSourcedCLIArgsPolicy === 'Append' && !allowedArgs) {
    const message = 'is Append, and profiles may add any argument: list those that they need in allowedArgs';
    say('ARGS_WITHOUT_RULES', 'profileSourcedCLIArgsPolicy', message);
  }
  if (provider.profileSourcedEnvVarsPolicy === 'Replace' && !allowedEnvVars) {
    const message =
      'is Replace, and profiles may change any variable but those that are known to be dangerous: list those that they ' +
      'need in allowedEnvVars';
    say('ENV_VARS_WITHOUT_RULES', 'profileSourcedEnvVarsPolicy', message);
  }
  if (provider.allowInsecureTLS) {
    const message =
      'lets profiles switch TLS verification off: anyone on the network path can then steal the credential';
    say('INSECURE_TLS_ALLOWED', 'allowInsecureTLS', message);
  }
  if (command.includes('/') && !isAbsolute(command)) {
    const message = 'is relative to the working directory of the controller: write an absolute path';
    say('COMMAND_RELATIVE', 'execConfig.command', message);
  }
  if (apiVersion === 'client.authentication.k8s.io/v1alpha1') {
    const message = 'client-go refuses this version: have the plugin speak client.authentication.k8s.io/v1';
    say('VERSION_OUTDATED', 'execConfig.apiVersion', message);
  }
  for (const [index, variable] of execConfig.env.entries()) {
    if (secretsOfEnvironment([variable]).length > 0) {
      say('SECRET_IN_PROVIDER', `execConfig.env[${index}].value`, secretAdvice);
    }
  }
  const secretsUpTo = (count: number) => secretsOfArguments(args.slice(0, count)).length;
  for (const index of args.keys()) {
    if (secretsUpTo(index + 1) > secretsUpTo(index)) {
      say('SECRET_IN_PROVIDER', `execConfig.args[${index}]`, secretAdvice);
    }
  }
}

/** Each container with a flag of ours. */
export function lintWorkload({ content, kind, file, placeOf }: Manifest, linted: Linted): void {
  const spec = podSpecs[kind] ?? [];
  for (const list of ['containers', 'initContainers']) {
    for (const [index, given] of listAt(content, ...spec, list).entries()) {
      const container = readContainer(given);
      const isOurs = textsOf(container).some((text) => /^--?clusterprofile[-_]/i.test(text));
      const placeOfFlag = (flag: string) => placeOf([...spec, list, index, ...keysOfFlag(flag, container)]);
      if (isOurs) lintContainer(container, file, placeOfFlag, linted);
    }
  }
}

function lintContainer(container: Container, file: string, placeOfFlag: (flag: string) => Place, linted: Linted): void {
  const name = `container ${container.name || '(without a name)'}`;
  const named = (owner: string, path: string) => (path === '' ? owner : `${owner}: ${path}`);
  const say = sayTo(linted, file, (flag) => ({ ...placeOfFlag(flag), path: named(name, flag) }));
  const { values, problems } = pickFlags(textsOf(container));
  const flags = orRefused(() => parseFlags(values, problems), say);
  if (!flags) return;
  const { providers, options } = flags;
  linted.providers.push(...providers);
  orRefused(() => parseOptions(options), say);
  if (!options.hardened) say('note', 'NOT_HARDENED', '', hardenedAdvice);
  for (const provider of providers) {
    const place = placeOfFlag(`--clusterprofile-access-provider "${provider.name}=..."`);
    const sayOf = sayTo(linted, file, (field) => ({ ...place, path: named(`provider ${provider.name}`, field) }));
    // What a hardened controller would refuse. The providers of a mounted file are not known here.
    const missing = options.hardened ? hardeningProblems([provider]) : [];
    for (const { message } of missing) sayOf('error', 'PROVIDER_INVALID', '', message);
    adviseOn(provider, sayOf);
  }
}

const hardenedAdvice =
  'the controller runs without --clusterprofile-hardened, which asks for an allowlist of plugins and for rules on each ' +
  'provider, and keeps its environment from plugins';

/** `undefined` if the library refuses the flags: then it is reported why. */
function orRefused<T>(parse: () => T, say: Say): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const { path, message } of error.problems) say('error', error.code, path, message);
    return undefined;
  }
}

/** Where a flag stands in its container, as the library's problems have it: `--name`, `--name "type=..."`, `--name "value"`. */
function keysOfFlag(flag: string, { args }: Container): readonly (string | number)[] {
  const [, name, quoted] = /^--?([\w-]+)(?:[= ](.*))?$/s.exec(flag) ?? [];
  const start = (quoted ?? '').replace(/^"|"$/g, '').replace(/\.\.\.$/, '');
  const named = args.flatMap(({ text, keys }, index) => {
    const [, given, inline] = /^--?([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
    return name !== undefined && given === name ? [{ keys, value: inline ?? args[index + 1]?.text ?? '' }] : [];
  });
  const found = named.find(({ value }) => value.startsWith(start)) ?? named[0];
  return found?.keys ?? ['args'];
}
