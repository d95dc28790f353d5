/** What lint says of ClusterProfiles and of provider files. */

import { isAbsolute } from 'node:path';
import type { ConfiguredProvider } from '../../access/provider.ts';
import { parseProviderFile } from '../../access/provider-schema.ts';
import type { ResolvedAccess } from '../../access/resolve.ts';
import { fieldPath, keysOf } from '../../access/schema-problems.ts';
import { type Place, readYaml } from '../../access/yaml-text.ts';
import { ConfigurationError, ProfileError } from '../../errors/index.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../../redaction/known-secrets.ts';
import { isLabel, isSubdomain } from '../../util/hosts.ts';
import { at, listAt, type Profile, textAt, tryToResolve, withoutProfile } from '../profile.ts';
import { type AdviceRule, type Finding, findingsOf } from './finding.ts';

/** A ClusterProfile in a file. `placeOf` takes the keys of its fields. */
interface GivenProfile {
  readonly content: unknown;
  readonly file: string;
  placeOf(keys: readonly PropertyKey[]): Place;
}

type Say = (severity: Finding['severity'], rule: Finding['rule'], path: string, message: string) => void;

export function lintClusterProfile(
  { content, file, placeOf }: GivenProfile,
  known: readonly ConfiguredProvider[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const say: Say = (severity, rule, path, message) => {
    findings.push({ file, ...placeOf(keysOf(path)), severity, rule, path, message });
  };
  for (const [field, isValid, rule] of names) {
    const name = textAt(content, 'metadata', field);
    if (name !== undefined && !isValid(name)) say('error', 'NAME_INVALID', `metadata.${field}`, rule);
  }
  const offered = new Set(
    lists.flatMap((list) => listAt(content, 'status', list).flatMap((entry) => textAt(entry, 'name') ?? [])),
  );
  for (const name of offered) {
    const configured = known.filter((provider) => provider.name === name);
    for (const provider of configured.length > 0 ? configured : [asNew(name)]) lintEntry(content, provider, say);
  }
  if (![...offered].some((name) => known.some((provider) => provider.name === name))) {
    const result = tryProvider(content, known);
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
  return findings;
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
    acceptedVersions: [apiVersion],
  };
}

/** Why the provider would not serve the profile, or what of the profile it would not apply. */
function lintEntry(content: unknown, provider: ConfiguredProvider, say: Say): void {
  const result = tryProvider(content, [provider]);
  if (result instanceof ProfileError) return say('error', result.code, result.path, messageOf(result));
  for (const { path, reason } of result.ignored) {
    say('warning', 'NOTHING_APPLIES', path, `is not applied: ${reason}`);
  }
}

/** `resolve` checks what it reads. */
function tryProvider(content: unknown, providers: readonly ConfiguredProvider[]): ResolvedAccess | ProfileError {
  return tryToResolve(content as Profile, providers);
}

/** The message without the profile's name and the path, which have fields of their own. */
function messageOf({ message, profile, path }: ProfileError): string {
  const text = withoutProfile(message, profile);
  return path !== '' && text.startsWith(`${path}: `) ? text.slice(path.length + 2) : text;
}

/** The keys of a field of a provider. */
type Field = readonly (string | number)[];

/** A provider that the library accepts, and its place. */
export interface KnownProvider {
  readonly provider: ConfiguredProvider;
  readonly file: string;
  /** How a field of it is called there: `providers[0].execConfig.command`. */
  pathOf(field: Field): string;
  /** Where a field of it stands, or the provider itself. */
  placeOf(field: Field): Place;
}

export interface LintedProviders {
  readonly findings: readonly Finding[];
  /** None if the file is refused. */
  readonly providers: readonly KnownProvider[];
}

/** `place` is that of every finding, for a text that is a value in the file. */
export function lintProviders(text: string, file: string, place?: Place): LintedProviders {
  try {
    const configured = parseProviderFile(text, file);
    const { placeOf } = readYaml(text, (problems) => new ConfigurationError('PROVIDER_FILE_INVALID', file, problems));
    const providers = configured.map((provider, index) => ({
      provider,
      file,
      pathOf: (field: Field) => fieldPath(['providers', index, ...field]),
      placeOf: (field: Field) => place ?? placeOf(['providers', index, ...field]),
    }));
    return { providers, findings: providers.flatMap(adviceOf) };
  } catch (error) {
    return {
      providers: [],
      findings: findingsOf(error, file, ({ line = 1, column = 1 }) => place ?? { line, column }),
    };
  }
}

const secretAdvice =
  'looks like a secret, which everyone who reads the provider file sees: have the plugin read it from a file, or from a ' +
  "variable of the controller's environment";

/** All advice on a provider that the library accepts. */
export function adviceOf({ provider, file, pathOf, placeOf }: KnownProvider): readonly Finding[] {
  const { execConfig, allowedServers, allowedArgs, allowedEnvVars } = provider;
  const { command, args, apiVersion, provideClusterInfo } = execConfig;
  const advice: Finding[] = [];
  const say = (rule: AdviceRule, field: Field, message: string) =>
    advice.push({ file, ...placeOf(field), severity: 'warning', rule, path: pathOf(field), message });
  if (!allowedServers && !provideClusterInfo) {
    const message =
      'the plugin gets no cluster information, so its credential goes to whatever server a profile names: list yours in ' +
      'allowedServers';
    say('NO_ALLOWED_SERVERS', ['allowedServers'], message);
  }
  if (provider.profileSourcedCLIArgsPolicy === 'Append' && !allowedArgs) {
    const message = 'is Append, and profiles may add any argument: list those that they need in allowedArgs';
    say('ARGS_WITHOUT_RULES', ['profileSourcedCLIArgsPolicy'], message);
  }
  if (provider.profileSourcedEnvVarsPolicy === 'Replace' && !allowedEnvVars) {
    const message =
      'is Replace, and profiles may change any variable but those that are known to be dangerous: list those that they ' +
      'need in allowedEnvVars';
    say('ENV_VARS_WITHOUT_RULES', ['profileSourcedEnvVarsPolicy'], message);
  }
  if (provider.allowInsecureTLS) {
    const message =
      'lets profiles switch TLS verification off: anyone on the network path can then steal the credential';
    say('INSECURE_TLS_ALLOWED', ['allowInsecureTLS'], message);
  }
  if (command.includes('/') && !isAbsolute(command)) {
    const message = 'is relative to the working directory of the controller: write an absolute path';
    say('COMMAND_RELATIVE', ['execConfig', 'command'], message);
  }
  if (apiVersion === 'client.authentication.k8s.io/v1alpha1') {
    const message = 'client-go refuses this version: have the plugin speak client.authentication.k8s.io/v1';
    say('VERSION_OUTDATED', ['execConfig', 'apiVersion'], message);
  }
  for (const [index, variable] of execConfig.env.entries()) {
    if (secretsOfEnvironment([variable]).length > 0) {
      say('SECRET_IN_PROVIDER', ['execConfig', 'env', index, 'value'], secretAdvice);
    }
  }
  const secretsUpTo = (count: number) => secretsOfArguments(args.slice(0, count)).length;
  for (const index of args.keys()) {
    if (secretsUpTo(index + 1) > secretsUpTo(index)) {
      say('SECRET_IN_PROVIDER', ['execConfig', 'args', index], secretAdvice);
    }
  }
  return advice;
}
