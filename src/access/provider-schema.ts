/** Parses an operator's providers into ConfiguredProviders, or reports every problem. */
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import {
  type ApiVersion,
  apiVersions,
  cliArgsPolicies,
  type EnvVar,
  envNameProblem,
  envVarsPolicies,
  interactiveModes,
  lastOfEachName,
  type Provider,
} from './provider.ts';
import { mustBe, schemaProblems, suggestion } from './schema-problems.ts';
import { parseHostPattern, parseUrlPattern, type UrlPattern } from './url-pattern.ts';
import { checkYaml } from './yaml-text.ts';

const noNul = { error: 'holds a NUL character, which no process can be given' };
const withoutNul = (value: string) => !value.includes('\0');
const nonEmpty = (what: string) => z.string(mustBe(what)).min(1, mustBe(what)).refine(withoutNul, noNul);
const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, {
    error: ({ input }) =>
      `must be one of ${values.join(', ')}${typeof input === 'string' ? suggestion(input, values) : ''}`,
  });

/** @internal */
export const envVarSchema = z.strictObject(
  {
    name: z.string(mustBe('the name of an environment variable')).superRefine((name, context) => {
      const problem = envNameProblem(name);
      if (problem) context.addIssue({ code: 'custom', message: problem });
    }),
    value: z.string(mustBe('text (quote numbers and booleans)')).refine(withoutNul, noNul),
  },
  mustBe('an object with name and value'),
);

/** @internal A list of variables, each name once. */
export const environmentSchema = <T extends z.ZodType<EnvVar>>(variable: T) =>
  z
    .array(variable, mustBe('a list of objects with name and value'))
    .nullish()
    .transform((env) => lastOfEachName(env ?? []));

/** @internal */
export const interactiveMode = oneOf(interactiveModes);

/** @internal */
export const execConfigSchema = z.strictObject(
  {
    apiVersion: oneOf(apiVersions),
    command: nonEmpty('the path or name of an executable'),
    args: z
      .array(z.string(mustBe('text (quote numbers and booleans)')).refine(withoutNul, noNul), mustBe('a list of text'))
      .nullish()
      .transform((args) => args ?? []),
    env: environmentSchema(envVarSchema),
    provideClusterInfo: z.boolean(mustBe('true or false')).default(false),
    installHint: z.string(mustBe('text')).optional(),
    interactiveMode: interactiveMode.default('Never'),
  },
  mustBe('an object with apiVersion and command'),
);

type ParsePattern = (text: string) => UrlPattern | { readonly problem: string };
const patterns = (what: string, parse: ParsePattern) =>
  z
    .array(
      z.string(mustBe(`a ${what}`)).transform((text, context): UrlPattern => {
        const pattern = parse(text);
        if (!('problem' in pattern)) return pattern;
        context.addIssue({ code: 'custom', message: pattern.problem });
        return z.NEVER;
      }),
      mustBe(`a list of ${what}s`),
    )
    .optional();
const urlPatterns = (...protocols: readonly string[]) => patterns('URL', (text) => parseUrlPattern(text, protocols));

const nameList = z.array(nonEmpty('a name, a * standing for any characters'), mustBe('a list of names')).optional();
const allowedProfilesSchema = z
  .strictObject(
    { namespaces: nameList, clusterManagers: nameList },
    mustBe('an object with namespaces, clusterManagers, or both'),
  )
  .refine(({ namespaces, clusterManagers }) => namespaces || clusterManagers, {
    error: 'names nothing: give namespaces, clusterManagers, or both',
  });

const providerFields = z.strictObject(
  {
    name: nonEmpty('the name of an access type').describe('the name of an access type of ClusterProfiles'),
    execConfig: execConfigSchema.describe('the credential plugin, as a kubeconfig has it'),
    profileSourcedCLIArgsPolicy: oneOf(cliArgsPolicies)
      .default('Ignore')
      .describe('what becomes of arguments that a profile adds; Ignore without it'),
    profileSourcedEnvVarsPolicy: oneOf(envVarsPolicies)
      .default('Ignore')
      .describe('what becomes of variables that a profile adds; Ignore without it'),
    allowedProfiles: allowedProfilesSchema
      .optional()
      .describe('the ClusterProfiles that may use this provider; all without it'),
    allowInsecureTLS: z
      .boolean(mustBe('true or false'))
      .default(false)
      .describe('whether a profile may switch the verification of TLS off; false without it'),
    allowedServers: urlPatterns('https:', 'http:').describe('where the credential may be sent; anywhere without it'),
    allowedServerNames: patterns('host name', parseHostPattern).describe(
      'values of tls-server-name that a profile may set, beside the host of the server',
    ),
    allowedProxies: urlPatterns('http:', 'https:', 'socks5:').describe('values of proxy-url that a profile may set'),
    allowedEnvVars: z
      .array(
        z
          .string(mustBe('the name of a variable'))
          .regex(/^(?:[^*=,\0]+\*?|\*)$/, mustBe('one name, or its beginning and a final *')),
        mustBe('a list of names'),
      )
      .optional()
      .describe('variables that a profile may set: CLUSTER_* is all that begin so'),
    allowedArgs: z
      .array(z.string(mustBe('text')), mustBe('a list of patterns'))
      .optional()
      .describe('arguments that a profile may add: a * stands for any characters'),
  },
  mustBe('an object with name and execConfig'),
);

/** A validated provider: its rules for profiles are parsed, and everything else has its default. */
export type ConfiguredProvider = Readonly<z.output<typeof providerFields>> & {
  /** The versions that its plugin may answer in. Default: that of its `execConfig`. */
  readonly acceptedVersions?: readonly ApiVersion[];
};

/** @internal The provider file's own schema: its only field is `providers`. */
export const providersSchema = z.strictObject(
  { providers: z.array(providerFields, mustBe('a list of providers')).superRefine(refuseDuplicates) },
  {
    error: ({ input }) =>
      input === null ? 'is empty: it must hold the field providers' : 'must be an object with the field providers',
  },
);

const knownFields = {
  provider: Object.keys(providerFields.shape),
  execConfig: Object.keys(execConfigSchema.shape),
};
/** Paths that `--clusterprofile-access-provider-option` may set. */
export const providerFieldPaths: readonly string[] = [
  ...knownFields.provider.filter((field) => field !== 'execConfig'),
  ...knownFields.execConfig.map((field) => `execConfig.${field}`),
];

/** Validates providers given in code. */
export function configureProviders(providers: readonly Provider[]): readonly ConfiguredProvider[] {
  const { data, error } = providersSchema.safeParse({ providers });
  if (data) return data.providers;
  throw new ConfigurationError('PROVIDER_INVALID', 'providers', providerProblems(error));
}

/** What is wrong with a list of providers, in the shape of a provider file. */
export function providerProblems(error: z.ZodError | undefined): readonly Problem[] {
  return schemaProblems(error, { known: fieldsAt });
}

/** The second provider of a name could never be used. */
function refuseDuplicates(providers: readonly { readonly name: string }[], context: z.RefinementCtx): void {
  const names = providers.map(({ name }) => name);
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    const message = `"${name}" is already the name of providers[${first}]: name each access type once`;
    if (first < index) context.addIssue({ code: 'custom', path: [index, 'name'], message });
  }
}

function fieldsAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return ['providers'];
  if (path.includes('env')) return Object.keys(envVarSchema.shape);
  if (path.includes('allowedProfiles')) return ['namespaces', 'clusterManagers'];
  return path.includes('execConfig') ? knownFields.execConfig : knownFields.provider;
}

/**
 * Reads the text of a provider file, JSON or YAML.
 * @param path - names the file in errors
 * @throws {ConfigurationError} with every problem, its line and its path
 */
export function parseProviderFile(text: string, path: string): readonly ConfiguredProvider[] {
  const { data, problems } = checkYaml(text, providersSchema, { known: fieldsAt });
  if (data && problems.length === 0) return data.providers;
  throw new ConfigurationError('PROVIDER_FILE_INVALID', `provider file ${path}`, problems);
}

/** Returns which rules of a hardened controller a provider lacks: where its credential may go, and what profiles may add. */
export function hardeningProblems(providers: readonly ConfiguredProvider[]): readonly Problem[] {
  return providers.flatMap((provider) => {
    const { name, profileSourcedCLIArgsPolicy, profileSourcedEnvVarsPolicy, allowInsecureTLS } = provider;
    const messages: string[] = [];
    const required = (field: 'allowedServers' | 'allowedArgs' | 'allowedEnvVars', what: string) => {
      if (provider[field]) return;
      const flag = `--clusterprofile-access-provider-option '${name}=${field}=[...]'`;
      messages.push(`has no ${field}, which hardened requires: list ${what}, in the provider file or with ${flag}`);
    };
    required('allowedServers', 'the servers that its credential may go to');
    if (profileSourcedCLIArgsPolicy !== 'Ignore') required('allowedArgs', 'the arguments that profiles may add');
    if (profileSourcedEnvVarsPolicy !== 'Ignore') required('allowedEnvVars', 'the variables that profiles may set');
    if (allowInsecureTLS) messages.push('has allowInsecureTLS: true, which hardened forbids: take it out');
    return messages.map((message) => ({ path: `provider ${name}`, message }));
  });
}
