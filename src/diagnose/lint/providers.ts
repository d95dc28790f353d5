/** A provider file, or the text of one in a ConfigMap: what the library refuses, and advice on risky settings that it accepts. Pure. */
import { isAbsolute } from 'node:path';
import type { ConfiguredProvider } from '../../access/provider.ts';
import { parseProviderFile } from '../../access/provider-schema.ts';
import { fieldPath } from '../../access/schema-problems.ts';
import { type Place, readYaml } from '../../access/yaml-text.ts';
import { ConfigurationError } from '../../errors/index.ts';
import { secretsOfArguments, secretsOfEnvironment } from '../../redaction/known-secrets.ts';
import { type AdviceRule, type Finding, type Severity, toFindings } from './finding.ts';

/** A provider that the library accepts, and its place. */
export interface KnownProvider {
  readonly provider: ConfiguredProvider;
  readonly file: string;
  /** How a field of it is called there: `providers[0].execConfig.command`. */
  pathOf(field: Advice['field']): string;
  /** Where a field of it stands, or the provider itself. */
  placeOf(field: Advice['field']): Place;
}

export interface LintedProviders {
  readonly findings: readonly Finding[];
  /** None if the file is refused. */
  readonly providers: readonly KnownProvider[];
}

/** `toFile` turns a place in the text into one in the file. */
export function lintProviders(
  text: string,
  file: string,
  toFile: (place: Place) => Place = (place) => place,
): LintedProviders {
  try {
    const configured = parseProviderFile(text, file);
    const { placeOf } = readYaml(text, (problems) => new ConfigurationError('PROVIDER_FILE_INVALID', file, problems));
    const providers = configured.map((provider, index) => ({
      provider,
      file,
      pathOf: (field: Advice['field']) => fieldPath(['providers', index, ...field]),
      placeOf: (field: Advice['field']) => toFile(placeOf(['providers', index, ...field])),
    }));
    return { providers, findings: providers.flatMap(adviceOf) };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const place = ({ line = 1, column = 1 }) => toFile({ line, column });
    return { providers: [], findings: toFindings(error.problems, error.code, file, place) };
  }
}

/** The findings about a provider that the library accepts. */
export function adviceOf({ provider, file, pathOf, placeOf }: KnownProvider): readonly Finding[] {
  return adviceFor(provider).map(({ rule, severity, field, message }) => ({
    file,
    ...placeOf(field),
    severity,
    rule,
    path: pathOf(field),
    message,
  }));
}

const secretAdvice =
  'looks like a secret, which everyone who reads the provider file sees: have the plugin read it from a file, or from a ' +
  "variable of the controller's environment";

interface Advice {
  readonly rule: AdviceRule;
  readonly severity: Severity;
  /** The field of the provider that it is about, or that is missing. */
  readonly field: readonly (string | number)[];
  readonly message: string;
}

/** All advice on one provider. */
function adviceFor(provider: ConfiguredProvider): readonly Advice[] {
  const { execConfig, allowedServers, allowedArgs, allowedEnvVars } = provider;
  const { command, args, apiVersion, provideClusterInfo } = execConfig;
  const advice: Advice[] = [];
  const say = (rule: AdviceRule, field: Advice['field'], message: string, severity: Severity = 'warning') =>
    advice.push({ rule, severity, field, message });
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
  for (const [index, variable] of (execConfig.env ?? []).entries()) {
    if (secretsOfEnvironment([variable]).length > 0) {
      say('SECRET_IN_PROVIDER', ['execConfig', 'env', index, 'value'], secretAdvice);
    }
  }
  const secretsUpTo = (count: number) => secretsOfArguments((args ?? []).slice(0, count)).length;
  for (const index of (args ?? []).keys()) {
    if (secretsUpTo(index + 1) > secretsUpTo(index)) {
      say('SECRET_IN_PROVIDER', ['execConfig', 'args', index], secretAdvice);
    }
  }
  return advice;
}
