/**
 * The kubelet's CredentialProviderConfig (KEP-2133): the path of a file or a folder comes in, checked providers go out, whose executables
 * exist. It is as strict as the kubelet: unknown fields and duplicate keys are errors.
 */
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { parseDuration } from '../access/duration.ts';
import { fieldPath, mustBe } from '../access/schema-problems.ts';
import { checkYaml, kubernetesYaml } from '../access/yaml-text.ts';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { errnoOf } from '../util/guards.ts';
import { isSubdomain } from '../util/hosts.ts';
import { parseImageUrl } from './keyring.ts';
import { providerVersions } from './protocol.ts';

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

/** KEP-4412: the plugin gets a service account's token. */
const tokenAttributesSchema = z
  .strictObject(
    {
      serviceAccountTokenAudience: textOf('the audience of the tokens, as text').min(1, 'is missing'),
      /** Whether cached credentials belong to the account, or to the token itself. */
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
      /** Also the name of its file in the folder of plugins. */
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
      /** Milliseconds; 0 means that nothing is kept. */
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
export type TokenAttributes = Readonly<z.output<typeof tokenAttributesSchema>>;
/** One entry of `providers`, checked. */
export type ImageProvider = Readonly<z.output<typeof providerSchema>>;

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

/**
 * Reads the text of one file. `names` has the providers of earlier files; those of this file are added to it. Throws a `ConfigurationError`
 * with every invalid field, its line and its path. Rules across fields are checked once every field is valid.
 */
export function parseImageConfig(content: string, path: string, names: Set<string>): readonly ImageProvider[] {
  const where = `image credential provider config ${path}`;
  const yaml = checkYaml(content, configSchema, { known: fieldsAt, dialect: kubernetesYaml });
  if (!yaml.data) throw new ConfigurationError('IMAGE_CONFIG_INVALID', where, yaml.problems);
  const problems: Problem[] = [...yaml.problems];
  const report = (keys: readonly PropertyKey[], message: string) => {
    problems.push({ path: fieldPath(keys), ...yaml.placeOf(keys), message });
  };
  const { providers, apiVersion } = yaml.data;
  for (const [index, { name, tokenAttributes }] of providers.entries()) {
    if (names.has(name)) report(['providers', index, 'name'], `"${name}" is the name of another provider too`);
    names.add(name);
    if (tokenAttributes && apiVersion !== 'kubelet.config.k8s.io/v1')
      report(['providers', index, 'tokenAttributes'], 'is known in kubelet.config.k8s.io/v1 only');
  }
  if (problems.length > 0) throw new ConfigurationError('IMAGE_CONFIG_INVALID', where, problems);
  return providers;
}

function fieldsAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.includes('tokenAttributes')) return Object.keys(tokenAttributesSchema.shape);
  if (path.includes('env')) return ['name', 'value'];
  return Object.keys(path.length > 0 ? providerSchema.shape : configSchema.shape);
}

/** Folder of plugins, files, validation, executables: in this order. Throws a `ConfigurationError`. */
export function readConfig(path: string, binDir: string) {
  // A bare name would be looked for in PATH.
  const folder = resolve(binDir);
  const isFolder = attempt(`folder of plugins ${folder}`, () => statSync(folder)).isDirectory();
  if (!isFolder) throw invalid(`folder of plugins ${folder}`, ['is no folder']);
  const names = new Set<string>();
  const problems: ConfigurationError[] = [];
  const providers = filesOf(path).flatMap((file) => {
    const content = attempt(`image credential provider config ${file}`, () => readFileSync(file, 'utf8'));
    try {
      return parseImageConfig(content, file, names);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(error);
      return [];
    }
  });
  const [first, second] = problems;
  const all = problems.map(({ message }) => message);
  if (first) throw second ? invalid(`folder ${path}`, all) : first;
  const missing = providers.flatMap(({ name }): readonly Problem[] => {
    const message = executableProblem(join(folder, name));
    return message ? [{ path: `provider ${name}`, message: `${join(folder, name)} ${message}` }] : [];
  });
  if (missing.length > 0) throw new ConfigurationError('IMAGE_CONFIG_INVALID', `folder of plugins ${folder}`, missing);
  return { providers, folder };
}

/** The file, or those of a folder that a kubelet reads, in the order of their paths' bytes. Other folders and pipes are ignored, whatever their name. */
function filesOf(path: string): readonly string[] {
  if (!attempt(`image credential provider config ${path}`, () => statSync(path)).isDirectory()) return [path];
  const files = attempt(`folder ${path}`, () => readdirSync(path))
    .filter((name) => /\.(?:json|ya?ml)$/.test(name))
    .map((name) => join(path, name))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .filter((file) => attempt(`image credential provider config ${file}`, () => statSync(file)).isFile());
  if (files.length === 0) throw invalid(`folder ${path}`, ['holds no .json, .yaml or .yml file']);
  return files;
}

function invalid(where: string, messages: readonly string[]): ConfigurationError {
  const problems = messages.map((message) => ({ path: '', message }));
  return new ConfigurationError('IMAGE_CONFIG_INVALID', where, problems);
}

function executableProblem(path: string): string | undefined {
  try {
    if (statSync(path).isDirectory()) return 'is a folder';
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return 'does not exist: install the plugin, or correct the name';
    return code === 'EACCES' ? 'is not executable (chmod +x), or not for the user of this process' : wordsOf(code);
  }
}

/** The result of a call of the file system, or an error in our own words. */
function attempt<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw invalid(where, [wordsOf(errnoOf(error))]);
  }
}

function wordsOf(code: string): string {
  if (code === 'ENOENT') return 'does not exist, or is a dangling symbolic link: correct the path';
  if (code !== 'EACCES' && code !== 'EPERM') return `cannot be read (${code})`;
  return 'may not be read by the user of this process: correct its mode, or that of a folder above it';
}
