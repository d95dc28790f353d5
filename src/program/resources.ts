/** The resources that are read from a hub. */
import { clusterProfileKind } from '../diagnose/index.ts';

export interface Resource {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface Selectors {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

const namespaced = true;
export const clusterProfiles: Resource = { ...clusterProfileKind, plural: 'clusterprofiles', namespaced };
export const leases: Resource = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases', namespaced };
export const configMaps: Resource = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced };
export const secrets: Resource = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced };
export const namespaces: Resource = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/** Workloads by the names that kubectl takes: `deployment`, `deployments`, `deploy`. */
export const workloads: Readonly<Record<string, Resource>> = Object.fromEntries(
  [
    { kind: 'Deployment', short: 'deploy', apiVersion: 'apps/v1' },
    { kind: 'StatefulSet', short: 'sts', apiVersion: 'apps/v1' },
    { kind: 'DaemonSet', short: 'ds', apiVersion: 'apps/v1' },
    { kind: 'Pod', short: 'po', apiVersion: 'v1' },
  ].flatMap(({ kind, short, apiVersion }) => {
    const singular = kind.toLowerCase();
    const plural = `${singular}s`;
    return [singular, plural, short].map((name) => [name, { kind, apiVersion, plural, namespaced }]);
  }),
);
