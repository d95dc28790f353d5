/** The public members of client-node's `KubeConfig`, without its class: that would load all 2,700 modules of client-node. */
import type { Cluster, Context, KubeConfig, User } from '@kubernetes/client-node';
import type { ConfigAccess } from '../access/resolve.ts';
import { ConfigurationError } from '../errors/index.ts';

/** The one context of a config. */
interface Entries {
  /** Of the cluster and of the context. */
  readonly name: string;
  readonly user: string;
  readonly namespace?: string | undefined;
  readonly access: ConfigAccess;
}

/** A config is immutable: these refuse. */
const changing = [
  'addAuthenticator',
  'addCluster',
  'addContext',
  'addUser',
  'createDispatcherOptions',
  'loadFromCluster',
  'loadFromClusterAndUser',
  'loadFromDefault',
  'loadFromFile',
  'loadFromOptions',
  'loadFromString',
  'makePathsAbsolute',
  'mergeConfig',
  'setCurrentContext',
] as const satisfies readonly (keyof KubeConfig)[];

/** What sends requests, or reads a credential, is the RestConfig's own. */
type Face = Omit<
  Pick<KubeConfig, keyof KubeConfig>,
  | 'applySecurityAuthentication'
  | 'applyToHTTPSOptions'
  | 'exportConfig'
  | 'getCurrentUser'
  | 'getUser'
  | 'makeApiClient'
  | (typeof changing)[number]
>;

class ReadOnlyKubeConfig implements Face {
  readonly clusters: Cluster[];
  readonly users: User[];
  readonly contexts: Context[];
  readonly currentContext: string;

  constructor({ name, user, namespace, access }: Entries) {
    this.clusters = [toCluster(name, access)];
    // Without `exec`: client-node's own authenticator must stay asleep.
    this.users = [{ name: user }];
    this.contexts = [{ name, cluster: name, user, ...(namespace === undefined ? {} : { namespace }) }];
    this.currentContext = name;
    for (const list of [this.clusters, this.users, this.contexts]) Object.freeze(list);
  }

  getClusters(): Cluster[] {
    return this.clusters;
  }

  getUsers(): User[] {
    return this.users;
  }

  getContexts(): Context[] {
    return this.contexts;
  }

  getCurrentContext(): string {
    return this.currentContext;
  }

  getContextObject(name: string): Context | null {
    return this.contexts.find((context) => context.name === name) ?? null;
  }

  getCluster(name: string): Cluster | null {
    return this.clusters.find((cluster) => cluster.name === name) ?? null;
  }

  getCurrentCluster(): Cluster | null {
    return this.clusters[0] ?? null;
  }

  getName(): string {
    return 'kubeconfig authentication';
  }
}

for (const method of changing) {
  const { [method]: value } = { [method]: () => refuse(method) };
  Object.defineProperty(ReadOnlyKubeConfig.prototype, method, { value, configurable: true, writable: true });
}

/**
 * The base class of a RestConfig. Its type is client-node's own, so that client-node's classes and functions take a RestConfig: TypeScript
 * compares private members by their declaration. At run time it has none of them, and client-node uses only public members of a config
 * that it is given. So `instanceof KubeConfig` is false.
 */
export const KubeConfigFace = ReadOnlyKubeConfig as unknown as new (entries: Entries) => KubeConfig; // as said above

function refuse(method: string): never {
  const message =
    'a RestConfig is immutable: load another one with RestConfig.fromKubeConfig or RestConfig.fromDefault';
  throw new ConfigurationError('OPTION_INVALID', `config.${method}`, [{ path: '', message }]);
}

function toCluster(name: string, { cluster }: ConfigAccess): Cluster {
  return Object.freeze({
    name,
    server: cluster.server,
    skipTLSVerify: cluster.insecureSkipTlsVerify,
    ...(cluster.certificateAuthorityData ? { caData: cluster.certificateAuthorityData } : {}),
    ...(cluster.tlsServerName ? { tlsServerName: cluster.tlsServerName } : {}),
    ...(cluster.proxyUrl ? { proxyUrl: cluster.proxyUrl } : {}),
  });
}
