/** Who a cluster is: its profile, and the key by which two profiles are one cluster. */
import { createHash } from 'node:crypto';
import type { ClusterProfile } from '../../access/cluster-profile.ts';
import { withoutLastSlashes } from '../../access/url-pattern.ts';
import { type KubernetesObject, keyOf } from '../../rest/api/kubernetes-object.ts';
import { isText } from '../../util/guards.ts';

const byServer = 'server ';

/** Whether a result of `clusterOf` comes from the server's address: then it is likely, and not certain, which cluster it is. */
export const isByServer = (key: string): boolean => key.startsWith(byServer);

/**
 * The default of `identify`: the cluster's ID, which managers copy into `status.properties` (KEP-2149: `cluster.clusterset.k8s.io`, unique in
 * `clusterset.k8s.io`; Open Cluster Management: `id.k8s.io`). Without one a digest of how the profile's first access provider reaches the
 * cluster: server, TLS server name, proxy and authority. It does not depend on the providers of this process, which may be newer than those
 * of another replica.
 */
export function clusterOf(profile: FleetProfile): string {
  const { status } = profile;
  const property = (name: string) => list(status?.properties).find((one) => one.name === name)?.value;
  const id = property('cluster.clusterset.k8s.io');
  if (isText(id)) return `id ${String(property('clusterset.k8s.io') ?? '')}/${id}`;
  const ocm = property('id.k8s.io');
  if (isText(ocm)) return `id ${ocm}`;
  const [cluster] = [...list(status?.accessProviders), ...list(status?.credentialProviders)].flatMap((provider) =>
    isText(Object(provider.cluster).server) ? [Object(provider.cluster)] : [],
  );
  if (!cluster) return byName(profile);
  const server = withoutLastSlashes(URL.parse(cluster.server)?.href ?? cluster.server);
  const path = ['tls-server-name', 'proxy-url', 'certificate-authority-data'].map((field) => cluster[field] || null);
  const digest = createHash('sha256').update(JSON.stringify([server, ...path]));
  return byServer + digest.digest('hex').slice(0, 32);
}

/** For `identify`: every ClusterProfile is a cluster of its own. */
export function byName(profile: FleetProfile): string {
  return keyOf(profile);
}

/** Profiles come from other programs: a field may be anything. */
function list(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.map((entry) => Object(entry)) : [];
}

/** The longest label, and the longest part of a finalizer after its slash. */
const longestKey = 63;

/**
 * A name for what a controller makes for each cluster: a field manager, a key in a ConfigMap, the part of a finalizer after its slash. It
 * is `namespace.name`, and if that is longer than 63 characters its beginning and a hash.
 *
 * @param name `namespace/name` of the ClusterProfile: `cluster.name`
 * @example clusterKey('fleet-system/spoke-1') // 'fleet-system.spoke-1'
 */
export function clusterKey(name: string): string {
  const key = name.replace('/', '.');
  if (key.length <= longestKey) return key;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${key.slice(0, longestKey - hash.length - 1).replace(/[.-]+$/, '')}-${hash}`;
}

/** A `ClusterProfile` that a hub has returned, with all of its metadata. */
export type FleetProfile = ClusterProfile & KubernetesObject;

export const clusterProfileKind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' } as const;
