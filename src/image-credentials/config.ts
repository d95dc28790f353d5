/**
 * The kubelet's CredentialProviderConfig (KEP-2133): text comes in, checked providers go out. It is as strict as the kubelet:
 * unknown fields and duplicate keys are errors. Pure.
 */

import { z } from 'zod';
import { parseDuration } from '../access/duration.ts';
import type { EnvVar } from '../access/provider.ts';
import { fieldPath, mustBe } from '../access/schema-problems.ts';
import { checkYaml, kubernetesYaml } from '../access/yaml-text.ts';
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

const required = (what: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    `${(input ?? undefined) === undefined ? 'is missing: it ' : ''}must be ${what}`,
});
const textOf = (what: string) => z.string(required(what));
const text = z.string(mustBe('text (quote numbers and booleans)'));
const listOf = <T extends z.ZodType>(item: T, what: string) =>
  z
    .array(item, mustBe(`a list of ${what}`))
    .nullish()
    .transform((value) => value ?? []);

const labelName = /^[a-z0-9](?:[-_.a-z0-9]{0,61}[a-z0-9])?$/;

function isAnnotationKey(key: string): boolean {
  const parts = key.toLowerCase().split('/');
  const [prefix, name] = parts.length === 1 ? [undefined, parts[0] ?? ''] : [parts[0] ?? '', parts[1] ?? ''];
  return parts.length <= 2 && labelName.test(name) && (prefix === undefined || isSubdomain(prefix));
}

const keysSchema = listOf(
  text.refine(isAnnotationKey, 'is not the key of an annotation, such as example.com/role'),
  'annotation keys',
).refine((keys) => new Set(keys).size === keys.length, 'has a key twice');

/** KEP-4412's rules. */
const tokenAttributesSchema = z
  .strictObject(
    {
      serviceAccountTokenAudience: textOf('the audience of the tokens, as text').min(1, 'is missing'),
      cacheType: z.enum(['ServiceAccount', 'Token'], required('ServiceAccount or Token')),
      requireServiceAccount: z.boolean(required('true or false')),
      requiredServiceAccountAnnotationKeys: keysSchema,
      optionalServiceAccountAnnotationKeys: keysSchema,
    },
    mustBe('an object'),
  )
  .superRefine((attributes, context) => {
    const { requiredServiceAccountAnnotationKeys: keys, optionalServiceAccountAnnotationKeys: others } = attributes;
    if (!attributes.requireServiceAccount && keys.length > 0)
      context.addIssue('requiredServiceAccountAnnotationKeys cannot be combined with requireServiceAccount: false');
    const both = keys.filter((key) => others.includes(key)).toSorted();
    if (both.length > 0) context.addIssue(`${both.join(', ')} cannot be both required and optional`);
  });

const providerSchema = z
  .strictObject(
    {
      name: textOf('the name of the executable, as text').regex(
        /^(?!\.\.?$)[^/ ]+$/,
        'must be the name of a file in the folder of plugins, without a space',
      ),
      matchImages: z
        .array(
          text.superRefine((pattern, context) => {
            const url = parseImageUrl(pattern);
            if ('problem' in url) context.addIssue(`is no pattern of images: it ${url.problem}`);
          }),
          required('a list of patterns'),
        )
        .min(1, 'is empty: name at least one pattern'),
      defaultCacheDuration: textOf('text such as 10m, or 0s to keep no credentials').transform((duration, context) => {
        const ms = parseDuration(duration);
        if (ms !== undefined && ms >= 0) return ms;
        context.addIssue(`${JSON.stringify(duration)} is not a duration such as 10m or 1h30m, or 0s`);
        return z.NEVER;
      }),
      apiVersion: z.enum(providerVersions, required(`one of ${providerVersions.join(', ')}`)),
      args: listOf(text, 'text'),
      env: listOf(z.strictObject({ name: text.default(''), value: text.default('') }), 'objects with name and value'),
      tokenAttributes: tokenAttributesSchema.nullish().transform((value) => value ?? undefined),
    },
    mustBe('an object with name and matchImages'),
  )
  .superRefine(({ tokenAttributes, apiVersion }, context) => {
    const message = `is supported for ${providerVersions[0]} only, and this provider speaks ${apiVersion}`;
    if (tokenAttributes && apiVersion !== providerVersions[0])
      context.addIssue({ code: 'custom', path: ['tokenAttributes'], message });
  });
const configSchema = z.strictObject(
  {
    kind: z.literal('CredentialProviderConfig', mustBe('CredentialProviderConfig')),
    apiVersion: z.enum(
      ['kubelet.config.k8s.io/v1', 'kubelet.config.k8s.io/v1beta1', 'kubelet.config.k8s.io/v1alpha1'],
      mustBe('kubelet.config.k8s.io/v1, /v1beta1 or /v1alpha1'),
    ),
    providers: z.array(providerSchema, required('a list of providers')).min(1, 'is empty: name at least one provider'),
  },
  mustBe('an object with kind, apiVersion and providers'),
);
const fieldsOf = {
  config: Object.keys(configSchema.shape),
  provider: Object.keys(providerSchema.shape),
  env: ['name', 'value'],
  tokenAttributes: Object.keys(tokenAttributesSchema.shape),
};

/**
 * Reads the text of one file. `names` has the providers of earlier files; those of this file are added to it.
 * Throws a `ConfigurationError` (`IMAGE_CONFIG_INVALID`) with every invalid field, its line and its path. Rules across fields are
 * checked once every field is valid.
 */
export function parseImageConfig(content: string, path: string, names: Set<string>): readonly ImageProvider[] {
  const {
    data,
    problems: found,
    placeOf,
  } = checkYaml(content, configSchema, { known: fieldsAt, dialect: kubernetesYaml });
  const invalid = (problems: readonly Problem[]) =>
    new ConfigurationError('IMAGE_CONFIG_INVALID', `image credential provider config ${path}`, problems);
  if (!data) throw invalid(found);
  const problems = [...found];
  const report = (keys: readonly PropertyKey[], message: string) => {
    problems.push({ path: fieldPath(keys), ...placeOf(keys), message });
  };
  const { providers, apiVersion } = data;
  for (const [index, { name, tokenAttributes }] of providers.entries()) {
    if (names.has(name)) report(['providers', index, 'name'], `"${name}" is the name of another provider too`);
    names.add(name);
    if (tokenAttributes && apiVersion !== 'kubelet.config.k8s.io/v1')
      report(['providers', index, 'tokenAttributes'], 'is known in kubelet.config.k8s.io/v1 only');
  }
  if (problems.length > 0) throw invalid(problems);
  return providers.map(({ defaultCacheDuration, ...provider }) => ({
    ...provider,
    defaultCacheDurationMs: defaultCacheDuration,
  }));
}

function fieldsAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.includes('tokenAttributes')) return fieldsOf.tokenAttributes;
  if (path.includes('env')) return fieldsOf.env;
  return path.length > 0 ? fieldsOf.provider : fieldsOf.config;
}
