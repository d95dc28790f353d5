/**
 * How the lists of built-in kinds are put together, as the OpenAPI document of Kubernetes v1.36 says: by a key of their elements,
 * or by the elements themselves. What is not named here is replaced whole.
 */

import { type ResourceType, storageKeyOf } from './resource-type.ts';

/** How a list is merged. */
export interface ListRule {
  /** The field that identifies an element; `undefined` for a list of texts. */
  readonly key: string | undefined;
}

const podLists = {
  containers: 'name',
  ephemeralContainers: 'name',
  hostAliases: 'ip',
  imagePullSecrets: 'name',
  initContainers: 'name',
  resourceClaims: 'name',
  schedulingGates: 'name',
  topologySpreadConstraints: 'topologyKey',
  volumes: 'name',
};
const containerLists = { env: 'name', ports: 'containerPort', volumeDevices: 'devicePath', volumeMounts: 'mountPath' };

/** By the field around a list, and the list's own. */
const keys: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  metadata: { ownerReferences: 'uid' },
  spec: podLists,
  containers: containerLists,
  initContainers: containerLists,
  ephemeralContainers: containerLists,
  status: { conditions: 'type' },
};

/** What single kinds have beside that, or, where empty, have not. */
const keysOfKinds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'certificatesigningrequests.certificates.k8s.io': { 'status/conditions': '' },
  'csinodes.storage.k8s.io': { 'spec/drivers': 'name' },
  'mutatingadmissionpolicies.admissionregistration.k8s.io': { 'spec/matchConditions': 'name' },
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': {
    '/webhooks': 'name',
    'webhooks/matchConditions': 'name',
  },
  'nodes.': { 'status/addresses': 'type' },
  'pods.': { 'status/hostIPs': 'ip', 'status/podIPs': 'ip', 'status/resourceClaimStatuses': 'name' },
  'resourceclaims.resource.k8s.io': { 'status/reservedFor': 'uid' },
  'serviceaccounts.': { '/secrets': 'name' },
  'services.': { 'spec/ports': 'port' },
  'validatingadmissionpolicies.admissionregistration.k8s.io': {
    'spec/matchConditions': 'name',
    'spec/variables': 'name',
    'status/conditions': '',
  },
  'validatingwebhookconfigurations.admissionregistration.k8s.io': {
    '/webhooks': 'name',
    'webhooks/matchConditions': 'name',
  },
};

/** Lists of texts that are merged. */
const textLists = ['metadata/finalizers', 'spec/podCIDRs'];

/** The rule for the list at a path of fields; `undefined` where it is replaced whole. */
export function listRule(type: ResourceType, path: readonly string[]): ListRule | undefined {
  const [field = '', parent = ''] = path.toReversed();
  const at = `${parent}/${field}`;
  if (textLists.includes(at)) return { key: undefined };
  const key = keysOfKinds[storageKeyOf(type)]?.[at] ?? keys[parent]?.[field];
  return key ? { key } : undefined;
}

/** An object that a patch replaces whole. */
export const isReplaced = (type: ResourceType, path: readonly string[]) =>
  storageKeyOf(type) === 'poddisruptionbudgets.policy' && path.join('/') === 'spec/selector';
