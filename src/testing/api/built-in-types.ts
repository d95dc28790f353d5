/** Kinds of objects: their names, where they live, how they may be written, and those that every API server has. */
import type { JsonObject } from './json.ts';

// The words that the tables are written in.

/** Which names are allowed: the rules of DNS, or anything that fits into a path. */
export type NameRule = 'subdomain' | 'label' | 'path';

/** One kind of object in one version. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Objects have a status that only the status subresource writes. */
  readonly status: boolean;
  /** What a new object's status is. */
  readonly initialStatus?: JsonObject;
  /** `metadata.generation` counts the changes of what is neither metadata nor status. */
  readonly generation: boolean;
  /** A PUT creates a missing object. */
  readonly createOnUpdate: boolean;
  /** A PUT needs no `resourceVersion`. */
  readonly unconditionalUpdate: boolean;
  /** A DELETE answers with the object that was there; else with a Status. */
  readonly returnsDeleted: boolean;
  /** All objects of a namespace can be deleted at once. */
  readonly deleteCollection: boolean;
  readonly names: NameRule;
  /** What a field selector may ask for: `status.phase`. */
  readonly fields: readonly string[];
  /** The OpenAPI schema of a CustomResourceDefinition. */
  readonly schema?: JsonObject;
}

/** `v1`, `apps/v1` */
export const apiVersionOf = ({ group, version }: Pick<ResourceType, 'group' | 'version'>) =>
  group === '' ? version : `${group}/${version}`;

/** Where objects are stored: the same for every version of a kind. */
export const storageKeyOf = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>) => `${plural}.${group}`;

/** A kind with what most kinds have. */
export function resourceType(
  given: Pick<ResourceType, 'group' | 'version' | 'kind' | 'plural' | 'namespaced'> & Partial<ResourceType>,
): ResourceType {
  const { kind, namespaced } = given;
  return {
    listKind: `${kind}List`,
    singular: kind.toLowerCase(),
    custom: false,
    status: false,
    generation: false,
    createOnUpdate: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    deleteCollection: true,
    names: 'subdomain',
    ...given,
    fields: ['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...(given.fields ?? [])],
  };
}

type Rules = Partial<Omit<ResourceType, 'group' | 'version' | 'kind' | 'namespaced'>>;
/** A kind, without its group and version. */
type Row = Rules & Pick<ResourceType, 'kind' | 'plural' | 'namespaced'>;

const row = (kind: string, namespaced: boolean, rules: readonly Rules[]): Row =>
  Object.assign({ kind, plural: pluralOf(kind), namespaced }, ...rules);

const namespaced = (kind: string, ...rules: readonly Rules[]): Row => row(kind, true, rules);
const cluster = (kind: string, ...rules: readonly Rules[]): Row => row(kind, false, rules);

function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  return singular.endsWith('s') ? `${singular}es` : `${singular}s`.replace(/ys$/, 'ies');
}

const status = { status: true };
const generation = { generation: true };
const returned = { returnsDeleted: true };
const strict = { unconditionalUpdate: false };
const created = { createOnUpdate: true };
const path = { names: 'path' } as const;
/** Fields that a field selector takes, beside the name and the namespace. */
const fields = (...given: readonly string[]) => ({ fields: given });

const podFields = fields('spec.nodeName', 'spec.serviceAccountName', 'status.phase', 'status.podIP');
const involved = ['kind', 'namespace', 'name', 'uid'].map((field) => `involvedObject.${field}`);
/** The status of a new object. */
const phase = (name: string) => ({ initialStatus: { phase: name } });
const balanced = { initialStatus: { loadBalancer: {} } };

const groups: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    namespaced('ConfigMap'),
    namespaced('Endpoints', { plural: 'endpoints' }, created),
    namespaced('Event', created, fields(...involved, 'reason', 'type')),
    namespaced('LimitRange', created),
    cluster(
      'Namespace',
      status,
      returned,
      { names: 'label', deleteCollection: false },
      phase('Active'),
      fields('status.phase'),
    ),
    cluster('Node', status),
    namespaced('PersistentVolumeClaim', status, returned, phase('Pending')),
    cluster('PersistentVolume', status, returned, phase('Pending')),
    namespaced('Pod', status, generation, returned, phase('Pending'), podFields),
    namespaced('PodTemplate', generation, returned),
    namespaced('ReplicationController', status, generation),
    namespaced('ResourceQuota', status, returned),
    namespaced('Secret', fields('type')),
    namespaced('ServiceAccount', returned),
    namespaced('Service', status, returned, created, { names: 'label' }, balanced, fields('spec.clusterIP')),
  ],
  'admissionregistration.k8s.io/v1': [
    cluster('MutatingAdmissionPolicy', strict, generation),
    cluster('MutatingAdmissionPolicyBinding', strict, generation),
    cluster('MutatingWebhookConfiguration', strict, generation),
    cluster('ValidatingAdmissionPolicy', strict, generation, status),
    cluster('ValidatingAdmissionPolicyBinding', strict, generation),
    cluster('ValidatingWebhookConfiguration', strict, generation),
  ],
  // Its finalizer keeps a real one for a moment, so it is returned.
  'apiextensions.k8s.io/v1': [cluster('CustomResourceDefinition', generation, strict, status, returned)],
  'apps/v1': [
    namespaced('ControllerRevision'),
    namespaced('DaemonSet', status, generation),
    namespaced('Deployment', status, generation),
    namespaced('ReplicaSet', status, generation),
    namespaced('StatefulSet', status, generation),
  ],
  'autoscaling/v2': [namespaced('HorizontalPodAutoscaler', status)],
  'batch/v1': [namespaced('CronJob', status, generation), namespaced('Job', status, generation)],
  'certificates.k8s.io/v1': [cluster('CertificateSigningRequest', status, fields('spec.signerName'))],
  'coordination.k8s.io/v1': [namespaced('Lease', created, strict)],
  'discovery.k8s.io/v1': [namespaced('EndpointSlice', generation)],
  'events.k8s.io/v1': [namespaced('Event', created)],
  'flowcontrol.apiserver.k8s.io/v1': [
    cluster('FlowSchema', status, generation),
    cluster('PriorityLevelConfiguration', status, generation),
  ],
  'networking.k8s.io/v1': [
    cluster('IngressClass', generation),
    namespaced('Ingress', status, generation, balanced),
    cluster('IPAddress', path),
    namespaced('NetworkPolicy', generation),
    cluster('ServiceCIDR', status),
  ],
  'node.k8s.io/v1': [cluster('RuntimeClass', created)],
  'policy/v1': [namespaced('PodDisruptionBudget', status, generation, strict)],
  'rbac.authorization.k8s.io/v1': [
    cluster('ClusterRoleBinding', path, created),
    cluster('ClusterRole', path, created),
    namespaced('RoleBinding', path, created),
    namespaced('Role', path, created),
  ],
  'resource.k8s.io/v1': [
    cluster('DeviceClass', generation, returned),
    namespaced('ResourceClaim', status, returned),
    namespaced('ResourceClaimTemplate', returned),
    cluster('ResourceSlice', generation, returned, fields('spec.nodeName', 'spec.driver')),
  ],
  'scheduling.k8s.io/v1': [cluster('PriorityClass', generation)],
  'storage.k8s.io/v1': [
    cluster('CSIDriver', returned, strict),
    cluster('CSINode', returned, strict),
    namespaced('CSIStorageCapacity', strict),
    cluster('StorageClass', returned),
    cluster('VolumeAttachment', status, returned, strict),
    cluster('VolumeAttributesClass', returned),
  ],
};

export const builtInTypes: readonly ResourceType[] = Object.entries(groups).flatMap(([apiVersion, rows]) => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return rows.map((row) => resourceType({ group: group ?? '', version: version ?? '', ...row }));
});

function builtIn(kind: string): ResourceType {
  const type = builtInTypes.find((one) => one.kind === kind);
  if (!type) throw new Error(`${kind} is no built-in kind`);
  return type;
}

// The kinds whose objects mean something to the server itself.
export const namespaceType = builtIn('Namespace');
export const serviceAccountType = builtIn('ServiceAccount');
export const definitionType = builtIn('CustomResourceDefinition');

/** Versions of groups whose kinds this API server does not implement: a 501 says so. */
export const notImplementedVersions: readonly string[] = [
  'apiregistration.k8s.io/v1',
  'authentication.k8s.io/v1',
  'authorization.k8s.io/v1',
  'autoscaling/v1',
];
