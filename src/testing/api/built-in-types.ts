/** The kinds of Kubernetes v1.36 that are stored: their names are discovery's, their rules those of its registry. */
import { type ResourceType, resourceType, selectable } from './resource-type.ts';
import {
  cluster,
  created,
  fields,
  generation,
  namespaced,
  path,
  type Row,
  returned,
  status,
  strict,
} from './type-rules.ts';

const podFields = [
  selectable('spec.nodeName'),
  selectable('spec.restartPolicy', 'Always'),
  selectable('spec.schedulerName', 'default-scheduler'),
  selectable('spec.serviceAccountName'),
  selectable('spec.hostNetwork', 'false'),
  selectable('status.phase'),
  selectable('status.podIP'),
  selectable('status.nominatedNodeName'),
];
const eventFields = [
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) =>
    selectable(`involvedObject.${field}`),
  ),
  selectable('reason'),
  selectable('reportingComponent'),
  selectable('type'),
];
const replicas = fields(selectable('status.replicas', '0'));
/** The status of a new object. */
const phase = (name: string) => ({ initialStatus: { phase: name } });
const balanced = { initialStatus: { loadBalancer: {} } };

const groups: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    namespaced('ConfigMap'),
    namespaced('Endpoints', { plural: 'endpoints' }, created),
    namespaced('Event', created, fields(...eventFields)),
    namespaced('LimitRange', created),
    cluster(
      'Namespace',
      status,
      returned,
      { names: 'label', deleteCollection: false },
      phase('Active'),
      fields(selectable('status.phase')),
    ),
    cluster('Node', status, fields(selectable('spec.unschedulable', 'false'))),
    namespaced('PersistentVolumeClaim', status, returned, phase('Pending')),
    cluster('PersistentVolume', status, returned, phase('Pending')),
    namespaced('Pod', status, generation, returned, phase('Pending'), fields(...podFields)),
    namespaced('PodTemplate', generation, returned),
    namespaced('ReplicationController', status, generation, replicas),
    namespaced('ResourceQuota', status, returned),
    namespaced('Secret', fields(selectable('type'))),
    namespaced('ServiceAccount', returned),
    namespaced(
      'Service',
      status,
      returned,
      created,
      { names: 'label' },
      balanced,
      fields(selectable('spec.clusterIP'), selectable('spec.type', 'ClusterIP')),
    ),
  ],
  'admissionregistration.k8s.io/v1': [
    cluster('MutatingAdmissionPolicy', strict, generation),
    cluster('MutatingAdmissionPolicyBinding', strict, generation),
    cluster('MutatingWebhookConfiguration', strict, generation),
    cluster('ValidatingAdmissionPolicy', strict, generation, status),
    cluster('ValidatingAdmissionPolicyBinding', strict, generation),
    cluster('ValidatingWebhookConfiguration', strict, generation),
  ],
  'apiextensions.k8s.io/v1': [cluster('CustomResourceDefinition', generation, strict, status)],
  'apps/v1': [
    namespaced('ControllerRevision'),
    namespaced('DaemonSet', status, generation),
    namespaced('Deployment', status, generation),
    namespaced('ReplicaSet', status, generation, replicas),
    namespaced('StatefulSet', status, generation),
  ],
  'autoscaling/v2': [namespaced('HorizontalPodAutoscaler', status)],
  'batch/v1': [
    namespaced('CronJob', status, generation),
    namespaced('Job', status, generation, fields(selectable('status.successful', '0'))),
  ],
  'certificates.k8s.io/v1': [cluster('CertificateSigningRequest', status, fields(selectable('spec.signerName')))],
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
    cluster('ResourceSlice', generation, returned, fields(selectable('spec.nodeName'), selectable('spec.driver'))),
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
