/** Configs from kubeconfigs: one context of a file or a text, or what kubectl would use. */
import { readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { checkCluster, type ResolvedCluster } from '../access/cluster.ts';
import { clusterSchema } from '../access/cluster-profile.ts';
import { type KubeconfigAccess, readContext } from '../access/kubeconfig.ts';
import { type KubeconfigText, mergeKubeconfigs, nameOf, partOf, refuseProblems } from '../access/kubeconfig-files.ts';
import { ConfigurationError, checkArgument, type Problem } from '../errors/index.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import { StaticCredentialSource } from '../exec/static-credential-source.ts';
import type { Logger } from '../observability/logger.ts';
import { type CredentialProvidersOptions, parseOptions } from '../options/options.ts';
import { homeKubeconfig } from '../util/folders.ts';
import { errnoOf, isObject, isString, isText, isTexts } from '../util/guards.ts';
import { bracket } from '../util/hosts.ts';
import type { RestConfigParts } from './rest-config-parts.ts';
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

/** Options of `RestConfig.fromKubeConfig` and `RestConfig.fromDefault`: a context, and those of `CredentialProviders` that apply. */
export interface KubeconfigOptions extends Omit<CredentialProvidersOptions, 'watchProviderFile' | 'idleTimeoutMs'> {
  /** @default the kubeconfig's `current-context` */
  readonly context?: string | undefined;
}

/** @internal */
type KubeconfigSettings = ReturnType<typeof parseKubeconfigOptions>;

/** @internal Reads a kubeconfig. Throws a `ConfigurationError`. */
export function readKubeconfig(source: KubeconfigSource, options: KubeconfigOptions): RestConfigParts {
  const settings = parseKubeconfigOptions(options);
  const texts = readSource(source);
  const access =
    readPart(texts, settings.context) ?? readContext(mergeKubeconfigs(texts), settings.context, readFileSync);
  return toParts(access, settings);
}

/** @internal The context of large files, if it can be read without the rest of them, and nothing is to be said of it. */
function readPart(texts: readonly KubeconfigText[], context: string | undefined): KubeconfigAccess | undefined {
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
export function parseKubeconfigOptions(given: KubeconfigOptions) {
  checkArgument('RestConfig', 'options', given, isObject, 'an object: { context }');
  const { context, ...options } = given;
  checkArgument('RestConfig', 'context', context, isStringOrNone, 'a name');
  return { ...parseOptions(options), context };
}

/** @internal The parts of a config that shares nothing with others. */
export function toParts(parsed: KubeconfigAccess, settings: KubeconfigSettings): RestConfigParts {
  const { access, authorityFile: file, context, exec, impersonation, namespace, origin, proxyUrl, staticUser } = parsed;
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
    authorityFile: file && authority ? new AuthorityFile(resolve(file), authority, settings.clock) : undefined,
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
          cluster: exec.provideClusterInfo ? toExecCluster(withLogin, exec.config) : undefined,
        },
      }
    : { ...to, source: new StaticCredentialSource(origin, staticUser, settings) };
  const stop = new AbortController();
  return {
    name: context,
    user: parsed.user,
    namespace,
    access,
    destination,
    connections: new Connections({ ...settings, signal: stop.signal }),
    stop,
    staticUser,
  };
}

const isStringOrNone = (value: unknown) => value === undefined || isString(value);

/** The fields of a source, for callers without types, or with an environment variable that is empty. */
const sourceFields: Readonly<Record<string, readonly [isRight: (value: unknown) => boolean, message: string]>> = {
  path: [isText, "must be a file's path, not empty"],
  paths: [isTexts, 'must be a list of paths'],
  text: [isString, 'must be text'],
  directory: [isStringOrNone, 'must be a path'],
};

function readSource(source: KubeconfigSource): readonly KubeconfigText[] {
  const what = '{ path }, { paths } or { text, directory }';
  checkArgument('fromKubeConfig', 'source', source, isObject, what);
  const problems: Problem[] = Object.entries(source).flatMap(([path, value]) => {
    const [isRight, message] = sourceFields[path] ?? [];
    if (isRight && message) return isRight(value) ? [] : [{ path, message }];
    return [{ path, message: 'is not a field of the source; context and options are the second argument' }];
  });
  if (['path', 'paths', 'text'].filter((field) => field in source).length !== 1)
    problems.push({ path: '', message: `must be ${what}` });
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'fromKubeConfig', problems);
  if ('text' in source) {
    return [{ text: source.text, directory: source.directory && resolve(source.directory), path: undefined }];
  }
  const paths = 'paths' in source ? source.paths : [source.path];
  const texts = readFiles(paths);
  if (texts.length > 0) return texts;
  if (paths.length === 0) unreadable(paths, 'no file is named: give the paths of kubeconfigs');
  return unreadable(paths, `${missing(paths)}: correct the path`);
}

/** @internal The existing files. As kubectl does, skips missing ones, and reads none twice. */
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
  return paths.length > 1 ? 'none of these exists' : 'does not exist';
}

/** @internal */
function unreadable(paths: readonly string[], message: string): never {
  const where = nameOf(paths.map((path) => resolve(path)));
  throw new ConfigurationError('KUBECONFIG_INVALID', where, [{ path: '', message }]);
}

/** Where it is looked for. A test looks somewhere else. */
interface DefaultPlaces {
  readonly env: NodeJS.ProcessEnv;
  /** `~/.kube/config`, if there is a home. */
  readonly kubeconfig: () => string | undefined;
  /** The folder that a pod's service account is mounted at. */
  readonly serviceAccount: string;
}

const processPlaces = (): DefaultPlaces => ({
  env: process.env,
  kubeconfig: homeKubeconfig,
  serviceAccount: '/var/run/secrets/kubernetes.io/serviceaccount',
});

/** @internal Throws a `ConfigurationError`. */
export function readDefault(options: KubeconfigOptions, places = processPlaces()): RestConfigParts {
  const settings = parseKubeconfigOptions(options);
  const { env } = places;
  const paths = env.KUBECONFIG ? env.KUBECONFIG.split(delimiter) : [places.kubeconfig() ?? []].flat();
  const texts = readFiles(paths);
  const part = readPart(texts, settings.context);
  if (part) return toParts(part, settings);
  const kubeconfig = mergeKubeconfigs(texts);
  refuseProblems(kubeconfig);
  const isPod = inPod(places);
  if (settings.context === undefined && kubeconfig.currentContext === undefined && isPod) {
    if (env.KUBECONFIG) {
      const reason = texts.length === 0 ? 'names no file that exists' : 'has no current-context';
      settings.logger.warn({ paths }, `KUBECONFIG ${reason}: the pod's service account is used instead`);
    }
    return toParts(readServiceAccount(places, settings.logger), settings);
  }
  if (texts.length === 0) {
    const noPod = isPod ? '' : ', and this is no pod with a service account';
    if (paths.length === 0) unreadable(paths, `this user has no home${noPod}: set KUBECONFIG`);
    const how = env.KUBECONFIG ? 'correct KUBECONFIG' : 'set KUBECONFIG, or write one there';
    unreadable(paths, `${missing(paths)}${noPod}: ${how}`);
  }
  return toParts(readContext(kubeconfig, settings.context, readFileSync), settings);
}

function inPod({ env, serviceAccount }: DefaultPlaces): boolean {
  const token = statSync(join(serviceAccount, 'token'), { throwIfNoEntry: false });
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT && token && !token.isDirectory());
}

/** The API server of the cluster that this process runs in, with the token that the kubelet mounts and rotates. */
function readServiceAccount({ env, serviceAccount }: DefaultPlaces, logger: Logger): KubeconfigAccess {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port, POD_NAMESPACE: podNamespace } = env;
  const origin = `service account ${serviceAccount}`;
  const read = (name: string) => {
    try {
      return readFileSync(join(serviceAccount, name));
    } catch {
      return undefined;
    }
  };
  const server = `https://${bracket(host)}:${port}`;
  const clusterWith = (ca: Buffer | undefined) => {
    const cluster = { server, 'certificate-authority-data': ca?.toString('base64') };
    return checkCluster(clusterSchema.parse(cluster), 'cluster', (_code, path, message) => {
      throw new ConfigurationError('KUBECONFIG_INVALID', origin, [{ path, message }]);
    });
  };
  let cluster: ResolvedCluster;
  let authorityFile: string | undefined;
  try {
    cluster = clusterWith(read('ca.crt') ?? Buffer.of(0));
    authorityFile = join(serviceAccount, 'ca.crt');
  } catch {
    cluster = clusterWith(undefined);
    logger.warn(
      { path: serviceAccount },
      `${origin}: ca.crt holds no certificate, so only public authorities are trusted`,
    );
  }
  const name = 'in-cluster';
  return {
    context: name,
    user: name,
    origin,
    // The downward API comes first, as in client-go.
    namespace: podNamespace || read('namespace')?.toString('utf8').trim() || undefined,
    access: { provider: name, cluster, ignored: [] },
    authorityFile,
    proxyUrl: undefined,
    exec: undefined,
    staticUser: { tokenFile: join(serviceAccount, 'token') },
    impersonation: undefined,
  };
}
