/** `publish --from-kubeconfig`: the contexts of a kubeconfig as clusters. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  ConfigurationError,
  createGlob,
  errnoOf,
  hasLogin,
  type KubeconfigAccess,
  type KubeconfigEntry,
  type ListName,
  type MergedKubeconfig,
  mergeKubeconfigs,
  type PemSource,
  type Problem,
  readContext,
  type StaticUser,
  secretsOfArguments,
  secretsOfEnvironment,
  textAt,
} from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import type { Refused, SourceCluster, SourceContent, SourceUser, StaticUserFields } from './source.ts';

export interface KubeconfigOptions {
  /** Of `--context`; none for all contexts. */
  readonly patterns: readonly string[];
  readonly namespace: string;
  readonly nameOf: (values: { readonly context: string; readonly cluster: string }) => string;
  /** Whether there is a profile of this name already, which has to keep its name. */
  readonly isPublished: (name: string) => boolean;
  readonly allowInsecureTls: boolean;
  /** Whatever the user of a context is: it is only needed to create a service account. */
  readonly isForServiceAccount: boolean;
}

/** Throws a `ConfigurationError` if the kubeconfig cannot be used at all, and a `Failure` if it has no such context. */
export function readContexts(file: string, text: string, options: KubeconfigOptions): SourceContent {
  const { patterns, namespace, nameOf, isPublished } = options;
  const merged = mergeKubeconfigs([{ text, path: file, directory: dirname(resolve(file)) }]);
  if (merged.hasProblems()) merged.giveUp();
  const globs = patterns.map(createGlob);
  const all = [...merged.lists.contexts.keys()];
  const isAsked = (context: string) => globs.length === 0 || globs.some((matches) => matches(context));
  const profileOf = (context: string) => nameOf({ context, cluster: clusterNameOf(merged, context) });
  const asked = all.filter(isAsked);
  if (asked.length === 0) {
    const shown = `${all.slice(0, 10).join(', ') || 'none'}${all.length > 10 ? `, and ${all.length - 10} more` : ''}`;
    const what = patterns.length === 0 ? 'has no contexts' : `has no context that matches ${patterns.join(' or ')}`;
    throw Failure.notFound(`kubeconfig ${file} ${what}`, `its contexts: ${shown}`);
  }
  /** By where they are: the first context of each. */
  const found = new Map<string, SourceCluster>();
  const notes: string[] = [];
  const refused: Refused[] = [];
  // `kubectl config set-context` sorts: a new context of a published cluster may come before the one that it was published by.
  const published = asked.filter((context) => isPublished(profileOf(context)));
  for (const context of new Set([...published, ...asked])) {
    const place = { origin: `context ${context}`, namespace, name: profileOf(context) };
    try {
      const access = readOne(merged, context, readFileSync);
      checkOne(access, options);
      const { cluster } = access.access;
      const same = `${cluster.server} ${cluster.tlsServerName ?? ''}`;
      const first = found.get(same);
      if (first) notes.push(`${place.origin}: the same cluster as ${first.origin}, which is published`);
      else found.set(same, { ...place, displayName: context, cluster, user: userOf(access, options), access });
    } catch (error) {
      if (error instanceof Unusable) refused.push({ ...place, message: error.message });
      else throw error;
    }
  }
  const leftOut = all.flatMap((context) => (isAsked(context) ? [] : `${namespace}/${profileOf(context)}`));
  return { clusters: [...found.values()], refused, leftOut, notes };
}

/** Why one cluster is not published. */
export class Unusable extends Error {}

function clusterNameOf({ lists }: MergedKubeconfig, context: string): string {
  const name: unknown = Object(lists.contexts.get(context)?.value).cluster;
  return typeof name === 'string' ? name : '';
}

/** One context, whose problems are its own. Throws an `Unusable`. */
function readOne(merged: MergedKubeconfig, context: string, readFile: (path: string) => Buffer): KubeconfigAccess {
  const problems: Problem[] = [];
  const report = (path: string, message: string) => void problems.push({ path, message });
  const giveUp = () => {
    throw new Unusable(problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; '));
  };
  const only = (list: ListName, name: unknown): ReadonlyMap<string, KubeconfigEntry> => {
    const entry = typeof name === 'string' ? merged.lists[list].get(name) : undefined;
    if (!entry) return merged.lists[list];
    return new Map([[entry.name, { ...entry, file: { ...entry.file, report } }]]);
  };
  const { cluster, user } = Object(merged.lists.contexts.get(context)?.value);
  const lists = {
    contexts: only('contexts', context),
    clusters: only('clusters', cluster),
    users: only('users', user),
  };
  const legacy = adviceOnAuthProvider(lists.users.get(user)?.value);
  if (legacy) throw new Unusable(legacy);
  const one = { lists, currentContext: undefined, report, hasProblems: () => problems.length > 0, giveUp };
  try {
    return readContext(one, context, readFile);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new Unusable(error.message);
    throw error;
  }
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
  options: Pick<KubeconfigOptions, 'allowInsecureTls' | 'isForServiceAccount'>,
): void {
  if (!cluster.server.startsWith('https:')) {
    throw new Unusable(`its server ${cluster.server} is not https://: a credential would be sent in the clear`);
  }
  if (cluster.insecureSkipTlsVerify && !options.allowInsecureTls) {
    throw new Unusable(
      'it has insecure-skip-tls-verify, so anyone on the network path could take its credential: write its authority into the kubeconfig, or give --allow-insecure-tls',
    );
  }
  if (proxyUrl !== undefined && hasLogin(new URL(proxyUrl))) {
    throw new Unusable('its proxy-url holds a login, and a ClusterProfile holds no secrets: take the login out');
  }
  if (Object.keys(impersonation).length > 0 && !options.isForServiceAccount) {
    throw new Unusable(
      'its user impersonates another (as), which a ClusterProfile cannot say: create an identity with --service-account and --cluster-role',
    );
  }
}

function userOf({ exec, staticUser }: KubeconfigAccess, { isForServiceAccount }: KubeconfigOptions): SourceUser {
  if (exec) {
    const variables = exec.env
      .filter((variable) => secretsOfEnvironment([variable]).length > 0)
      .map(({ name }) => name);
    const places = [...(secretsOfArguments(exec.args).length > 0 ? ['args'] : []), ...variables];
    if (places.length > 0 && !isForServiceAccount) {
      throw new Unusable(
        `its exec plugin is given a secret (${places.join(', ')}), and neither a provider file nor a ClusterProfile may hold one: give it to the plugin in a file`,
      );
    }
    return { kind: 'exec', exec };
  }
  const { token, tokenFile, certificate, key, basic } = staticUser;
  if (basic && !token && !certificate && !isForServiceAccount) {
    throw new Unusable('its user has a password, which API servers have not taken since Kubernetes 1.19');
  }
  if (!token && !tokenFile && !certificate && !isForServiceAccount) throw new Unusable('its user has no credential');
  const what = certificate && key ? 'a client certificate' : 'a token';
  return { kind: 'static', what, read: () => fieldsOf(staticUser) };
}

/** Reads the files of a user. As in client-go, a token's file beats the token. */
function fieldsOf({ token, tokenFile, certificate, key }: StaticUser): StaticUserFields {
  const shown = tokenFile === undefined ? token : read(tokenFile).trim();
  const pem = (source: PemSource) => Buffer.from('pem' in source ? source.pem : read(source.file)).toString('base64');
  return {
    ...(shown === undefined ? {} : { token: shown }),
    ...(certificate && key ? { 'client-certificate-data': pem(certificate), 'client-key-data': pem(key) } : {}),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read (${errnoOf(error)})`);
  }
}

/** Whoever wrote a Secret must not have this machine's files read. The message shows the `code` as it shows ENOENT. */
function noFile(): never {
  throw Object.assign(new Error('no file'), { code: 'a Secret has no files' });
}

/** The most that is read of a Secret: whoever writes one of a namespace must not keep the others waiting. */
const longestInSecret = 128 * 1024;

/**
 * The current context of a kubeconfig's text in a Secret, which `kubeconfig-secretreader` has to be able to read. Throws an `Unusable` that
 * says what is wrong with it.
 */
export function readKubeconfigOfSecret(text: string, options: Pick<KubeconfigOptions, 'allowInsecureTls'>) {
  if (text.length > longestInSecret)
    throw new Unusable(`it has more than ${longestInSecret} characters: write a kubeconfig of this cluster alone`);
  let access: KubeconfigAccess;
  try {
    const merged = mergeKubeconfigs([{ text, path: undefined, directory: undefined }]);
    if (merged.hasProblems()) merged.giveUp();
    if (!merged.lists.contexts.has(merged.currentContext ?? '')) throw new Unusable('it has no current-context');
    access = readOne(merged, merged.currentContext ?? '', noFile);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new Unusable(error.message);
    throw error;
  }
  checkOne(access, { ...options, isForServiceAccount: false });
  const { token, certificate, key } = access.staticUser;
  if (token || (certificate && 'pem' in certificate && key && 'pem' in key)) return access;
  throw new Unusable(
    'its user has neither a token nor a client certificate in it, which kubeconfig-secretreader needs',
  );
}
