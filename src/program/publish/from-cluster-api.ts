/** `publish --from-cluster-api`: the kubeconfigs that Cluster API keeps in Secrets. Nothing of them is copied. */
import { textAt } from '../../diagnose/index.ts';
import { readKubeconfigOfSecret, Unusable } from './from-kubeconfig.ts';
import type { Refused, SourceCluster, SourceContent } from './source.ts';

/** Authorities and the certificates of etcd have the same type and label. */
export const clusterApiSecrets = {
  labelSelector: 'cluster.x-k8s.io/cluster-name',
  fieldSelector: 'type=cluster.x-k8s.io/secret',
};

const key = 'value';

export interface ClusterApiOptions {
  readonly nameOf: (values: { readonly cluster: string; readonly namespace: string }) => string;
  readonly allowInsecureTls: boolean;
}

/** The profile of a cluster is in the namespace of its Secret. */
export function readClusterApi(
  secrets: readonly unknown[],
  { nameOf, allowInsecureTls }: ClusterApiOptions,
): SourceContent {
  const clusters: SourceCluster[] = [];
  const refused: Refused[] = [];
  for (const secret of secrets) {
    const [namespace, secretName] = [textAt(secret, 'metadata', 'namespace'), textAt(secret, 'metadata', 'name')];
    const cluster = textAt(secret, 'metadata', 'labels', 'cluster.x-k8s.io/cluster-name');
    if (namespace === undefined || cluster === undefined) continue;
    // Providers of Cluster API keep other kubeconfigs too: NAME-user-kubeconfig.
    if (secretName !== `${cluster}-kubeconfig`) continue;
    const place = { origin: `secret ${namespace}/${secretName}`, namespace, name: nameOf({ cluster, namespace }) };
    try {
      const text = textAt(secret, 'data', key);
      if (!text) throw new Unusable(`it has no ${key}: Cluster API has not written the kubeconfig yet`);
      const access = readKubeconfigOfSecret(Buffer.from(text, 'base64').toString('utf8'), { allowInsecureTls });
      clusters.push({
        ...place,
        displayName: cluster,
        cluster: access.access.cluster,
        user: { kind: 'secret', secret: secretName, key },
        access,
      });
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      refused.push({ ...place, message: error.message });
    }
  }
  return { clusters, refused, leftOut: [], notes: [] };
}
