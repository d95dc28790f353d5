// The clusters of a hub's ClusterProfiles for Backstage's Kubernetes plugin: which there are, and the credential of each.
import type { LoggerService } from '@backstage/backend-plugin-api';
import { ANNOTATION_KUBERNETES_AUTH_PROVIDER } from '@backstage/plugin-kubernetes-common';
import type {
  AuthenticationStrategy,
  ClusterDetails,
  FetchResponseWrapper,
  KubernetesClustersSupplier,
  KubernetesCredential,
  KubernetesFetcher,
} from '@backstage/plugin-kubernetes-node';
import type { ConfigCredential, CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import {
  type ClusterProfile,
  type KubernetesObject,
  type WatchProfilesOptions,
  watchProfiles,
} from 'clusterprofile-credentials/fleet';

/** What Backstage calls this way to a credential, in its backend and its frontend. */
export const authProvider = 'clusterprofile';

interface Cluster {
  readonly details: ClusterDetails;
  readonly config: RestConfig;
}

export class ProfileClusters implements KubernetesClustersSupplier, AuthenticationStrategy {
  readonly #providers: CredentialProviders;
  readonly #logger: LoggerService;
  #clusters: ReadonlyMap<string, Cluster> = new Map();
  #leftOut: ReadonlySet<string> = new Set();
  /** Where Backstage has a credential from, for when a cluster refuses it. */
  readonly #sources = new WeakMap<KubernetesCredential, ConfigCredential>();
  /** Why there is no credential. */
  readonly #failures = new WeakMap<KubernetesCredential, string>();

  constructor(providers: CredentialProviders, logger: LoggerService) {
    this.#providers = providers;
    this.#logger = logger;
  }

  /** Has the clusters that the hub has, until the signal aborts. */
  async follow(hub: RestConfig, options: WatchProfilesOptions): Promise<void> {
    for await (const profiles of watchProfiles(hub, options)) this.#take(profiles);
    this.#take([]);
  }

  /** Does not wait for the hub: Backstage asks at its start, too. */
  async getClusters(): Promise<ClusterDetails[]> {
    return [...this.#clusters.values()].map(({ details }) => details);
  }

  async getCredential({ name }: ClusterDetails): Promise<KubernetesCredential> {
    try {
      const cluster = this.#clusters.get(name);
      if (!cluster) throw new Error(`the hub has no ClusterProfile ${name} any more`);
      const source = await cluster.config.credential();
      const credential = forBackstage(source);
      this.#sources.set(credential, source);
      return credential;
    } catch (error) {
      // Thrown, it would take the objects of all other clusters with it.
      const failure = `no credential for ${name}: ${error}`;
      this.#logger.error(failure);
      const credential = { type: 'anonymous' } as const;
      this.#failures.set(credential, failure);
      return credential;
    }
  }

  validateCluster(): Error[] {
    return [];
  }

  presentAuthMetadata(): ClusterDetails['authMetadata'] {
    return {};
  }

  /** A fetcher that asks once more, with another credential, where a cluster has refused one. */
  fetcher(inner: KubernetesFetcher): KubernetesFetcher {
    const fetchWith = async (
      cluster: ClusterDetails,
      credential: KubernetesCredential,
      fetch: (credential: KubernetesCredential) => Promise<FetchResponseWrapper>,
    ): Promise<FetchResponseWrapper> => {
      const failure = this.#failures.get(credential);
      if (failure !== undefined) return { errors: [{ errorType: 'FETCH_ERROR', message: failure }], responses: [] };
      const result = await fetch(credential);
      const source = this.#sources.get(credential);
      if (!source || !result.errors.some((error) => 'statusCode' in error && error.statusCode === 401)) return result;
      await source.reject();
      return fetch(await this.getCredential(cluster));
    };
    return {
      fetchObjectsForService: (params) =>
        fetchWith(params.clusterDetails, params.credential, (credential) =>
          inner.fetchObjectsForService({ ...params, credential }),
        ),
      fetchPodMetricsByNamespaces: (cluster, credential, namespaces, labelSelector) =>
        fetchWith(cluster, credential, (other) =>
          inner.fetchPodMetricsByNamespaces(cluster, other, namespaces, labelSelector),
        ),
    };
  }

  #take(profiles: readonly (ClusterProfile & KubernetesObject)[]): void {
    const before = this.#clusters;
    const clusters = new Map<string, Cluster>();
    const leftOut = new Set<string>();
    for (const profile of profiles) {
      const name = `${profile.metadata.namespace}/${profile.metadata.name}`;
      try {
        const config = this.#providers.getConfig(profile);
        clusters.set(name, { config, details: detailsOf(name, profile, config) });
      } catch (error) {
        leftOut.add(`${name} is left out: ${error instanceof Error ? error.message : error}`);
      }
    }
    for (const line of leftOut) if (!this.#leftOut.has(line)) this.#logger.warn(line);
    this.#leftOut = leftOut;
    this.#clusters = clusters;
    // Equal configs share connections and credentials: nothing of a cluster that has stayed is lost.
    for (const { config } of before.values()) config.close().catch((error) => this.#logger.warn(String(error)));
  }
}

function detailsOf(name: string, { spec }: ClusterProfile, config: RestConfig): ClusterDetails {
  const { server, certificateAuthorityData, insecureSkipTlsVerify, proxyUrl, tlsServerName } = config.access.cluster;
  if (proxyUrl !== undefined) throw new Error(`Backstage knows no proxy-url, and it needs ${proxyUrl}`);
  if (tlsServerName !== undefined) throw new Error(`Backstage knows no tls-server-name, and it needs ${tlsServerName}`);
  return {
    name,
    title: spec?.displayName || name,
    url: server,
    caData: certificateAuthorityData,
    skipTLSVerify: insecureSkipTlsVerify,
    authMetadata: { [ANNOTATION_KUBERNETES_AUTH_PROVIDER]: authProvider },
  };
}

function forBackstage({ token, clientCertificateData, clientKeyData }: ConfigCredential): KubernetesCredential {
  // An API server believes the certificate where it gets both.
  if (clientCertificateData !== undefined && clientKeyData !== undefined)
    return { type: 'x509 client certificate', cert: clientCertificateData, key: clientKeyData };
  if (token === undefined) throw new Error('the plugin gave neither a token nor a certificate');
  return { type: 'bearer token', token };
}
