/** Reads the source of `publish`: the contexts of a kubeconfig, or the kubeconfigs that Cluster API keeps in Secrets. */
import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import {
  createGlob,
  hasLogin,
  type KubeconfigAccess,
  type MergedKubeconfig,
  mergeKubeconfigs,
  type ResolvedExec,
  readContext,
  refuseProblems,
  secretsOfArguments,
  secretsOfEnvironment,
  textAt,
} from '../../diagnose/index.ts';
import { exitCodes, Failure } from '../failure.ts';
import type { HubReader } from '../hub.ts';
import { readInput } from '../input.ts';
import { secrets } from '../resources.ts';
import { managerLabel, secretKey } from './secrets.ts';
import {
  attempt,
  fullName,
  type ProfileName,
  profileNamer,
  type Refused,
  type Settings,
  type SourceCluster,
  type SourceContent,
  Unusable,
} from './source.ts';

/** `isPublished` says whether there is a profile of this name already, which has to keep its name. */
export async function readSource(
  hub: HubReader,
  settings: Settings,
  isPublished: (place: ProfileName) => boolean,
  signal: AbortSignal,
): Promise<SourceContent> {
  const { kubeconfig } = settings;
  if (kubeconfig === undefined)
    return readClusterApi(await hub.list(secrets, settings.namespace, clusterApiSecrets), settings);
  const text = await readInput(`kubeconfig ${kubeconfig}`, kubeconfig, exitCodes.configuration, signal);
  return readContexts(kubeconfig, text.toString('utf8'), settings, isPublished);
}

/** Throws a `ConfigurationError` if the kubeconfig cannot be used at all, and a `Failure` if it has no such context. */
function readContexts(
  file: string,
  text: string,
  settings: Settings,
  isPublished: (place: ProfileName) => boolean,
): SourceContent {
  const { patterns, namespace = '', namePattern } = settings;
  const nameOf = profileNamer(namePattern ?? '{context}', ['context', 'cluster']);
  const merged = mergeKubeconfigs([{ text, path: file, directory: dirname(resolve(file)) }]);
  refuseProblems(merged);
  const globs = patterns.map(createGlob);
  const { contexts } = merged.lists;
  const all = [...contexts].map(([context, { value }]) => ({
    origin: `context ${context}`,
    namespace,
    name: nameOf({ context, cluster: textAt(value, 'cluster') ?? '' }),
    context,
    isAsked: globs.length === 0 || globs.some((matches) => matches(context)),
  }));
  const asked = all.filter(({ isAsked }) => isAsked);
  if (asked.length === 0) {
    const known = [...contexts.keys()];
    const more = known.length > 10 ? `, and ${known.length - 10} more` : '';
    const what = patterns.length === 0 ? 'has no contexts' : `has no context that matches ${patterns.join(' or ')}`;
    const shown = `${known.slice(0, 10).join(', ') || 'none'}${more}`;
    throw Failure.notFound(`kubeconfig ${file} ${what}`, `its contexts: ${shown}`);
  }
  /** By where they are: the first context of each. */
  const found = new Map<string, SourceCluster>();
  const notes: string[] = [];
  const refused: Refused[] = [];
  // `kubectl config set-context` sorts: a new context of a published cluster may come before the one that it was published by.
  for (const { context, isAsked: _, ...place } of new Set([...asked.filter(isPublished), ...asked])) {
    attempt(place, refused, () => {
      const access = readOne(merged, context, settings, readFileSync);
      const { cluster } = access.access;
      const same = `${cluster.server} ${cluster.tlsServerName ?? ''}`;
      const first = found.get(same);
      if (first) notes.push(`${place.origin}: the same cluster as ${first.origin}, which is published`);
      else
        found.set(same, { ...place, displayName: context, cluster, access, ...pluginOf(access, place.name, settings) });
    });
  }
  const leftOut = all.flatMap((place) => (place.isAsked ? [] : fullName(place)));
  return { clusters: [...found.values()], refused, leftOut, notes };
}

/** One context, whose problems are its own. Throws an `Unusable` or a `ConfigurationError`. */
function readOne(
  merged: MergedKubeconfig,
  context: string,
  settings: Settings,
  readFile: (path: string) => Buffer,
): KubeconfigAccess {
  const user = textAt(merged.lists.contexts.get(context)?.value, 'user') ?? '';
  const legacy = adviceOnAuthProvider(merged.lists.users.get(user)?.value);
  if (legacy) throw new Unusable(legacy);
  const access = readContext(merged, context, readFile);
  checkOne(access, settings);
  return access;
}

/** kubectl dropped them in 1.26. */
const successors: Readonly<Record<string, string>> = {
  gcp: 'install gke-gcloud-auth-plugin, and run gcloud container clusters get-credentials again',
  azure: 'run kubelogin convert-kubeconfig',
  oidc: 'use the exec plugin kubelogin (kubectl oidc-login setup)',
};

function adviceOnAuthProvider(user: unknown): string | undefined {
  const { 'auth-provider': provider, exec } = Object(user);
  if (!provider || exec) return undefined;
  const name = textAt(provider, 'name') ?? '';
  const advice = successors[name] ?? 'use an exec plugin';
  return `its user has the auth-provider ${name}, which kubectl and this package do not support: ${advice}`;
}

function checkOne(
  { access: { cluster }, proxyUrl, impersonation }: KubeconfigAccess,
  { allowInsecureTls, serviceAccount }: Settings,
): void {
  if (!cluster.server.startsWith('https:')) {
    throw new Unusable(`its server ${cluster.server} is not https://: a credential would be sent in the clear`);
  }
  if (cluster.insecureSkipTlsVerify && !allowInsecureTls) {
    throw new Unusable(
      'it has insecure-skip-tls-verify, so anyone on the network path could take its credential: write its authority into the kubeconfig, or give --allow-insecure-tls',
    );
  }
  if (proxyUrl !== undefined && hasLogin(new URL(proxyUrl))) {
    throw new Unusable('its proxy-url holds a login, and a ClusterProfile holds no secrets: take the login out');
  }
  if (impersonation && !serviceAccount) {
    throw new Unusable(
      'its user impersonates another (as), which a ClusterProfile cannot say: create an identity with --service-account and --cluster-role',
    );
  }
}

type Plugin = Pick<SourceCluster, 'exec' | 'type' | 'secret'>;

/** Of what a service account is created with, anything will do. */
function pluginOf({ exec, staticUser }: KubeconfigAccess, name: string, settings: Settings): Plugin {
  const { serviceAccount, secretsNamespace, clusterManager } = settings;
  if (exec && !serviceAccount) return ownPlugin(exec);
  const { token, tokenFile, certificate, key, basic } = staticUser;
  if (basic && !token && !certificate && !serviceAccount) {
    throw new Unusable('its user has a password, which API servers have not taken since Kubernetes 1.19');
  }
  if (!token && !tokenFile && !certificate && !serviceAccount) throw new Unusable('its user has no credential');
  if (secretsNamespace === undefined) {
    const what = exec ? 'a plugin' : certificate && key ? 'a client certificate' : 'a token';
    throw new Unusable(
      `its user has ${what}, and a ClusterProfile holds no credential: give --write-secrets NAMESPACE, or --service-account and --cluster-role for an identity of its own`,
    );
  }
  const args = ['--namespace', secretsNamespace, '--label', `${managerLabel}=${clusterManager}`];
  return { exec: readsSecret(args, { name, key: secretKey }), type: secretReader, secret: 'own' };
}

function ownPlugin(exec: ResolvedExec): Plugin {
  const variables = exec.env.filter((variable) => secretsOfEnvironment([variable]).length > 0).map(({ name }) => name);
  const places = [...(secretsOfArguments(exec.args).length > 0 ? ['args'] : []), ...variables];
  if (places.length > 0) {
    throw new Unusable(
      `its exec plugin is given a secret (${places.join(', ')}), and neither a provider file nor a ClusterProfile may hold one: give it to the plugin in a file`,
    );
  }
  const name = basename(exec.command).replace(/\.\w+$/, '');
  return { exec, type: typesOfCommands[name] ?? name };
}

/** Access types that others publish for the same plugins. */
const typesOfCommands: Readonly<Record<string, string>> = {
  'gke-gcloud-auth-plugin': 'google',
  aws: 'eks',
  'aws-iam-authenticator': 'eks',
};

const secretReader = 'kubeconfig-secretreader';

/** A profile says in its `config` which Secret it is. */
function readsSecret(args: readonly string[], config: { readonly name: string; readonly key: string }): ResolvedExec {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: secretReader,
    args,
    env: [],
    provideClusterInfo: true,
    config,
    interactiveMode: 'Never',
  };
}

/** Whoever wrote a Secret must not have this machine's files read. The message shows the `code` as it shows ENOENT. */
function noFile(): never {
  throw Object.assign(new Error('no file'), { code: 'a Secret has no files' });
}

/** The most that is read of a Secret: whoever writes one of a namespace must not keep the others waiting. */
const longestInSecret = 128 * 1024;

/** Authorities and the certificates of etcd have the same type and label. */
const clusterApiSecrets = {
  labelSelector: 'cluster.x-k8s.io/cluster-name',
  fieldSelector: 'type=cluster.x-k8s.io/secret',
};

const key = 'value';

/** Nothing of the Secrets is copied. The profile of a cluster is in the namespace of its Secret. */
function readClusterApi(found: readonly unknown[], settings: Settings): SourceContent {
  const nameOf = profileNamer(settings.namePattern ?? '{cluster}', ['cluster', 'namespace']);
  const refused: Refused[] = [];
  const clusters = found.flatMap((object): readonly SourceCluster[] => {
    const [namespace, secret] = [textAt(object, 'metadata', 'namespace'), textAt(object, 'metadata', 'name')];
    const cluster = textAt(object, 'metadata', 'labels', 'cluster.x-k8s.io/cluster-name');
    // Providers of Cluster API keep other kubeconfigs too: NAME-user-kubeconfig.
    if (namespace === undefined || cluster === undefined || secret !== `${cluster}-kubeconfig`) return [];
    const place = { origin: `secret ${namespace}/${secret}`, namespace, name: nameOf({ cluster, namespace }) };
    const access = attempt(place, refused, () => readSecret(textAt(object, 'data', key), settings));
    if (!access) return [];
    const exec = readsSecret(['--namespace', namespace, '--name', '*-kubeconfig'], { name: secret, key });
    const plugin = { exec, type: `cluster-api-${namespace}`, secret: 'of the source' } as const;
    return [{ ...place, displayName: cluster, cluster: access.access.cluster, access, ...plugin }];
  });
  return { clusters, refused, leftOut: [], notes: [] };
}

/** The current context of a kubeconfig in base64, which `kubeconfig-secretreader` has to be able to read. */
function readSecret(data: string | undefined, settings: Settings): KubeconfigAccess {
  if (!data) throw new Unusable(`it has no ${key}: Cluster API has not written the kubeconfig yet`);
  const text = Buffer.from(data, 'base64').toString('utf8');
  if (text.length > longestInSecret)
    throw new Unusable(`it has more than ${longestInSecret} characters: write a kubeconfig of this cluster alone`);
  const merged = mergeKubeconfigs([{ text, path: undefined, directory: undefined }]);
  refuseProblems(merged);
  const { currentContext = '', lists } = merged;
  if (!lists.contexts.has(currentContext)) throw new Unusable('it has no current-context');
  const access = readOne(merged, currentContext, settings, noFile);
  const { token, certificate, key: own } = access.staticUser;
  if (token || (certificate && 'pem' in certificate && own && 'pem' in own)) return access;
  throw new Unusable(
    'its user has neither a token nor a client certificate in it, which kubeconfig-secretreader needs',
  );
}
