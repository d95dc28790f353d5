/**
 * The kubelet's CredentialProviderConfig (KEP-2133): text comes in, checked providers go out. It is as strict as the kubelet:
 * unknown fields and duplicate keys are errors. Pure.
 */

import { z } from 'zod';
import { parseDuration } from '../access/duration.ts';
import type { EnvVar } from '../access/provider.ts';
import { fieldPath, mustBe, schemaProblems } from '../access/schema-problems.ts';
import { kubernetesYaml, readYaml } from '../access/yaml-text.ts';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { isSubdomain } from '../util/hosts.ts';
import { parseImageUrl } from './keyring.ts';
import { type ProviderVersion, providerVersions } from './protocol.ts';

/** KEP-4412: the plugin gets a service account's token. */
export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** Whether cached credentials belong to the account, or to the token itself. */
  readonly cacheType: 'ServiceAccount' | 'Token';
  readonly requireServiceAccount: boolean;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

/** One entry of `providers`, checked. */
export interface ImageProvider {
  /** Also the name of its executable in the folder of plugins. */
  readonly name: string;
  readonly matchImages: readonly string[];
  /** Milliseconds; 0 means that nothing is kept. */
  readonly defaultCacheDurationMs: number;
  readonly apiVersion: ProviderVersion;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly tokenAttributes: TokenAttributes | undefined;
}

const text = z.string(mustBe('text (quote numbers and booleans)'));
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);
const listOf = <T extends z.ZodType>(item: T, what: string) =>
  z
    .array(item, mustBe(`a list of ${what}`))
    .nullish()
    .transform((value) => value ?? []);

const tokenAttributesSchema = z.strictObject(
  {
    serviceAccountTokenAudience: optional(text),
    cacheType: optional(text),
    requireServiceAccount: optional(z.boolean(mustBe('true or false'))),
    requiredServiceAccountAnnotationKeys: listOf(text, 'annotation keys'),
    optionalServiceAccountAnnotationKeys: listOf(text, 'annotation keys'),
  },
  mustBe('an object'),
);
const providerSchema = z.strictObject(
  {
    name: optional(text),
    matchImages: listOf(text, 'patterns'),
    defaultCacheDuration: optional(text),
    apiVersion: optional(text),
    args: listOf(text, 'text'),
    env: listOf(z.strictObject({ name: text.default(''), value: text.default('') }), 'objects with name and value'),
    tokenAttributes: optional(tokenAttributesSchema),
  },
  mustBe('an object with name and matchImages'),
);
const configSchema = z.strictObject(
  {
    kind: z.literal('CredentialProviderConfig', mustBe('CredentialProviderConfig')),
    apiVersion: z.enum(
      ['kubelet.config.k8s.io/v1', 'kubelet.config.k8s.io/v1beta1', 'kubelet.config.k8s.io/v1alpha1'],
      mustBe('kubelet.config.k8s.io/v1, /v1beta1 or /v1alpha1'),
    ),
    providers: listOf(providerSchema, 'providers'),
  },
  mustBe('an object with kind, apiVersion and providers'),
);
const fieldsOf = {
  config: Object.keys(configSchema.shape),
  provider: Object.keys(providerSchema.shape),
  env: ['name', 'value'],
  tokenAttributes: Object.keys(tokenAttributesSchema.shape),
};

type ParsedProvider = z.output<typeof providerSchema>;
type Report = (keys: readonly PropertyKey[], message: string) => void;

/**
 * Reads the text of one file. `names` has the providers of earlier files; those of this file are added to it.
 * Throws a `ConfigurationError` (`IMAGE_CONFIG_INVALID`) with every problem, its line and its path; first those of unknown fields and
 * wrong types.
 */
export function parseImageConfig(content: string, path: string, names: Set<string>): readonly ImageProvider[] {
  const invalid = (problems: readonly Problem[]) =>
    new ConfigurationError('IMAGE_CONFIG_INVALID', `image credential provider config ${path}`, problems);
  const { content: value, problems: twice, placeOf } = readYaml(content, invalid, kubernetesYaml);
  const problems: Problem[] = [...twice];
  const report: Report = (keys, message) => {
    problems.push({ path: fieldPath(keys), ...placeOf(keys), message });
  };
  const parsed = configSchema.safeParse(value);
  for (const { keys, message } of schemaProblems(parsed.error, { known: fieldsAt })) report(keys, message);
  if (!parsed.success) throw invalid(problems);
  const { providers, apiVersion } = parsed.data;
  if (providers.length === 0) report(['providers'], 'is empty: name at least one provider');
  const checked = providers.map((provider, index) => {
    const reportHere = below(report, 'providers', index);
    if (provider.tokenAttributes && apiVersion !== 'kubelet.config.k8s.io/v1') {
      reportHere(['tokenAttributes'], 'is known in kubelet.config.k8s.io/v1 only');
    }
    return checkProvider(provider, names, reportHere);
  });
  if (problems.length > 0) throw invalid(problems);
  return checked.flatMap((provider) => provider ?? []);
}

function fieldsAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.includes('tokenAttributes')) return fieldsOf.tokenAttributes;
  if (path.includes('env')) return fieldsOf.env;
  return path.length > 0 ? fieldsOf.provider : fieldsOf.config;
}

/** A report on what stands below a place. */
function below(report: Report, ...at: readonly PropertyKey[]): Report {
  return (keys, message) => report([...at, ...keys], message);
}

function checkProvider(provider: ParsedProvider, names: Set<string>, report: Report): ImageProvider | undefined {
  const { name = '', matchImages, apiVersion = '', args, env, tokenAttributes } = provider;
  const before = names.size;
  if (name === '') report(['name'], 'is missing: it is the name of the executable');
  if (name.includes('/')) report(['name'], 'must not have a /: it is the name of a file in the folder of plugins');
  if (name.includes(' ')) report(['name'], 'must not have a space');
  if (name === '.' || name === '..') report(['name'], `must not be ${name}`);
  if (name !== '' && names.add(name).size === before) report(['name'], `"${name}" is the name of another provider too`);
  const version = providerVersions.find((known) => known === apiVersion);
  if (!version) {
    const what = apiVersion === '' ? 'is missing' : `"${apiVersion}" is not supported`;
    report(['apiVersion'], `${what}: it must be one of ${providerVersions.join(', ')}`);
  }
  if (matchImages.length === 0) report(['matchImages'], 'is empty: name at least one pattern');
  for (const [index, pattern] of matchImages.entries()) {
    const url = parseImageUrl(pattern);
    if ('problem' in url) report(['matchImages', index], `is no pattern of images: it ${url.problem}`);
  }
  const defaultCacheDurationMs = checkDuration(provider.defaultCacheDuration, below(report, 'defaultCacheDuration'));
  const attributes =
    tokenAttributes && checkTokenAttributes(tokenAttributes, version, below(report, 'tokenAttributes'));
  if (!version) return undefined;
  return { name, matchImages, defaultCacheDurationMs, apiVersion: version, args, env, tokenAttributes: attributes };
}

function checkDuration(duration: string | undefined, report: Report): number {
  if (duration === undefined) {
    report([], 'is missing: say how long credentials are kept, for example 10m, or 0s for not at all');
    return 0;
  }
  const ms = parseDuration(duration);
  if (ms === undefined) report([], `${JSON.stringify(duration)} is not a duration such as 10m or 1h30m`);
  else if (ms < 0) report([], 'must not be negative');
  return ms ?? 0;
}

/** KEP-4412's rules, in the kubelet's order. */
function checkTokenAttributes(
  attributes: NonNullable<ParsedProvider['tokenAttributes']>,
  version: ProviderVersion | undefined,
  report: Report,
): TokenAttributes | undefined {
  const { serviceAccountTokenAudience = '', requireServiceAccount, cacheType } = attributes;
  const { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: others } = attributes;
  if (serviceAccountTokenAudience === '') report(['serviceAccountTokenAudience'], 'is missing');
  if (requireServiceAccount === undefined) report(['requireServiceAccount'], 'is missing: say true or false');
  if (version !== undefined && version !== 'credentialprovider.kubelet.k8s.io/v1') {
    report([], `is supported for credentialprovider.kubelet.k8s.io/v1 only, and this provider speaks ${version}`);
  }
  if (requireServiceAccount === false && required.length > 0) {
    report(['requiredServiceAccountAnnotationKeys'], 'cannot be combined with requireServiceAccount: false');
  }
  checkKeys(required, below(report, 'requiredServiceAccountAnnotationKeys'));
  checkKeys(others, below(report, 'optionalServiceAccountAnnotationKeys'));
  const both = required.filter((key) => others.includes(key)).toSorted();
  if (both.length > 0) report([], `${both.join(', ')} cannot be both required and optional`);
  if (cacheType !== 'ServiceAccount' && cacheType !== 'Token') {
    const what = cacheType === undefined ? 'is missing' : `"${cacheType}" is not supported`;
    report(['cacheType'], `${what}: it must be ServiceAccount or Token`);
    return undefined;
  }
  return {
    serviceAccountTokenAudience,
    cacheType,
    requireServiceAccount: requireServiceAccount ?? false,
    requiredServiceAccountAnnotationKeys: required,
    optionalServiceAccountAnnotationKeys: others,
  };
}

const labelName = /^[a-z0-9](?:[-_.a-z0-9]{0,61}[a-z0-9])?$/;

function checkKeys(keys: readonly string[], report: Report): void {
  for (const [index, key] of keys.entries()) {
    const parts = key.toLowerCase().split('/');
    const [prefix, name] = parts.length === 1 ? [undefined, parts[0] ?? ''] : [parts[0] ?? '', parts[1] ?? ''];
    const good = parts.length <= 2 && labelName.test(name) && (prefix === undefined || isSubdomain(prefix));
    if (!good) report([index], `"${key}" is not the key of an annotation, such as example.com/role`);
    if (keys.indexOf(key) < index) report([index], `"${key}" is given twice`);
  }
}
