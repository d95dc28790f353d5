/** Kubeconfigs and options come in, the parts of a RestConfig go out: where to connect, and whose credential. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type KubeconfigAccess, readContext } from '../access/kubeconfig.ts';
import { type KubeconfigText, mergeKubeconfigs, nameOf } from '../access/kubeconfig-files.ts';
import { partOf } from '../access/kubeconfig-part.ts';
import { nearest } from '../access/nearest.ts';
import { checkArgument } from '../errors/check-argument.ts';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import { StaticCredentialSource } from '../exec/static-credential-source.ts';
import { type CredentialProvidersOptions, parseOptions } from '../options/options.ts';
import { errnoOf } from '../util/errno.ts';
import { isObject, isString, isText, isTexts } from '../util/guards.ts';
import type { RestConfigParts } from './rest-config-parts.ts';
import { credentialFiles } from './rest-config-parts.ts';
import type { Destination } from './transport/connection.ts';
import { Connections } from './transport/connections.ts';
import { AuthorityFile } from './transport/trust.ts';

/**
 * Where a kubeconfig is: a file; several files, merged as kubectl merges those of `KUBECONFIG`; or a text, with the folder
 * that relative paths in it start from.
 */
export type KubeconfigSource =
  | { readonly path: string }
  | { readonly paths: readonly string[] }
  | { readonly text: string; readonly directory?: string | undefined };

/** Options that are for providers, which a kubeconfig has none of, and for what several configs share. */
const unusable = {
  watchProviderFile: 'is for provider files: a kubeconfig is read once',
  idleTimeoutMs: 'is for what configs share: the connections of this one end after its close()',
} as const;

/** Options of `RestConfig.fromKubeConfig` and `RestConfig.fromDefault`: a context, and those of `CredentialProviders` that apply. */
export interface KubeconfigOptions extends Omit<CredentialProvidersOptions, keyof typeof unusable> {
  /** @default the kubeconfig's `current-context` */
  readonly context?: string | undefined;
}

/** @internal */
export type KubeconfigSettings = ReturnType<typeof parseOptions> & { readonly context: string | undefined };

/** @internal Reads a kubeconfig. Throws a `ConfigurationError`. */
export function readKubeconfig(source: KubeconfigSource, options: KubeconfigOptions): RestConfigParts {
  const settings = parseKubeconfigOptions(options);
  const texts = readSource(source);
  const access =
    readPart(texts, settings.context) ?? readContext(mergeKubeconfigs(texts), settings.context, readFileSync);
  return toParts(access, settings);
}

/** @internal The context of large files, if it can be read without the rest of them, and nothing is to be said of it. */
export function readPart(texts: readonly KubeconfigText[], context: string | undefined): KubeconfigAccess | undefined {
  const part = partOf(texts, context);
  if (!part) return undefined;
  try {
    const found = readContext(mergeKubeconfigs(part), context, readFileSync);
    return found.access.ignored.length === 0 ? found : undefined;
  } catch (error) {
    // The whole has the lines of the problems.
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** @internal Throws a `ConfigurationError` (`OPTION_INVALID`). */
export function parseKubeconfigOptions(given: KubeconfigOptions): KubeconfigSettings {
  checkArgument('RestConfig', 'options', given, isObject, 'an object: { context }');
  const { context, ...options } = given;
  const problems: Problem[] = Object.entries(unusable).flatMap(([path, message]) =>
    Reflect.get(options, path) ? [{ path, message }] : [],
  );
  if (context !== undefined && typeof context !== 'string')
    problems.push({ path: 'context', message: 'must be a name' });
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'options', problems);
  return { ...parseOptions(options), context };
}

/** @internal The parts of a config that shares nothing with others. */
export function toParts(parsed: KubeconfigAccess, settings: KubeconfigSettings): RestConfigParts {
  const { access, authorityFile, context, exec, impersonation, namespace, origin, proxyUrl, staticUser, user } = parsed;
  const { cluster, ignored, provider } = access;
  // A credential that is never sent is a surprise. Kubeconfigs often have two, of which one wins.
  const level = cluster.server.startsWith('http:') ? 'warn' : 'debug';
  for (const { path, reason } of ignored) settings.logger[level]?.({ path }, `${origin}: ${path} ${reason}`);
  // The plugin may need the proxy's login, as client-go gives it.
  const withLogin = proxyUrl === undefined ? cluster : { ...cluster, proxyUrl };
  const name = `${origin.replace(/, user .*$/s, '')}, context ${context}`;
  const { certificateAuthorityData: authority } = cluster;
  const to = {
    name,
    cluster,
    authorityFile:
      authorityFile === undefined || authority === undefined
        ? undefined
        : new AuthorityFile(resolve(authorityFile), authority, settings.clock),
    provider,
    impersonation,
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
  };
  const destination: Destination = exec
    ? {
        ...to,
        call: {
          provider,
          origin,
          exec,
          acceptedVersions: [exec.apiVersion],
          cluster: exec.provideClusterInfo ? toExecCluster(withLogin, exec.config) : undefined,
        },
      }
    : { ...to, source: new StaticCredentialSource(origin, staticUser, settings) };
  const stop = new AbortController();
  return {
    name: context,
    user,
    namespace,
    access,
    destination,
    connections: new Connections({ ...settings, signal: stop.signal }),
    stop,
    credentialFiles: credentialFiles(staticUser),
  };
}

/** The fields of a source, for callers without types, or with an environment variable that is empty. */
const sourceFields: Readonly<Record<string, readonly [isRight: (value: unknown) => boolean, message: string]>> = {
  path: [isText, "must be a file's path, not empty"],
  paths: [isTexts, 'must be a list of paths'],
  text: [isString, 'must be text'],
  directory: [(value) => value === undefined || isString(value), 'must be a path'],
};

function readSource(source: KubeconfigSource): readonly KubeconfigText[] {
  const what = '{ path }, { paths } or { text, directory }';
  checkArgument('fromKubeConfig', 'source', source, isObject, what);
  const problems: Problem[] = Object.entries(source).flatMap(([path, value]) => {
    const [isRight, message] = sourceFields[path] ?? [];
    if (isRight && message) return isRight(value) ? [] : [{ path, message }];
    const meant = nearest(path, Object.keys(sourceFields));
    const hint = meant ? ` (did you mean ${meant}?)` : '';
    return [{ path, message: `is not a field of the source${hint}; context and options are the second argument` }];
  });
  if (['path', 'paths', 'text'].filter((field) => field in source).length !== 1)
    problems.push({ path: '', message: `must be ${what}` });
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'fromKubeConfig', problems);
  if ('text' in source) {
    return [{ text: source.text, directory: source.directory && resolve(source.directory), path: undefined }];
  }
  const paths = 'paths' in source ? source.paths : [source.path];
  const texts = readFiles(paths);
  return texts.length > 0 ? texts : unreadable(paths, missing(paths));
}

/** @internal The files that are there. As kubectl does it, those that are not are passed over, and none is read twice. */
export function readFiles(paths: readonly string[]): readonly KubeconfigText[] {
  const named = new Set(paths.filter((path) => path !== '').map((path) => resolve(path)));
  return [...named].flatMap((path) => {
    try {
      return [{ text: readFileSync(path, 'utf8'), directory: dirname(path), path }];
    } catch (error) {
      const code = errnoOf(error);
      return code === 'ENOENT' ? [] : unreadable([path], `cannot be read (${code})`);
    }
  });
}

function missing(paths: readonly string[]): string {
  if (paths.length === 0) return 'no file is named: give the paths of kubeconfigs';
  return `${paths.length > 1 ? 'none of these exists' : 'does not exist'}: correct the path`;
}

/** @internal */
export function unreadable(paths: readonly string[], message: string): never {
  const where = nameOf(paths.map((path) => resolve(path)));
  throw new ConfigurationError('KUBECONFIG_INVALID', where, [{ path: '', message }]);
}
