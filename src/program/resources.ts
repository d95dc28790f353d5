/** The resources that are read from a hub. */
import { clusterProfileKind } from '../diagnose/index.ts';

export type Resource = ReturnType<typeof resourceOf>;

function resourceOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }, namespaced = true) {
  return { apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced } as const;
}

export const clusterProfiles = resourceOf(clusterProfileKind);
export const leases = resourceOf({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' });
export const configMaps = resourceOf({ apiVersion: 'v1', kind: 'ConfigMap' });
export const secrets = resourceOf({ apiVersion: 'v1', kind: 'Secret' });
export const namespaces = resourceOf({ apiVersion: 'v1', kind: 'Namespace' }, false);

/** Workloads by the names that kubectl takes: `deployment`, `deployments`, `deploy`. */
export const workloads: Readonly<Record<string, Resource>> = Object.fromEntries(
  [
    { kind: 'Deployment', short: 'deploy', apiVersion: 'apps/v1' },
    { kind: 'StatefulSet', short: 'sts', apiVersion: 'apps/v1' },
    { kind: 'DaemonSet', short: 'ds', apiVersion: 'apps/v1' },
    { kind: 'Pod', short: 'po', apiVersion: 'v1' },
  ].flatMap(({ short, ...kind }) => {
    const resource = resourceOf(kind);
    return [kind.kind.toLowerCase(), resource.plural, short].map((name) => [name, resource]);
  }),
);
