/** The kinds of Kubernetes v1.36 that are stored: their names are discovery's, their rules those of its registry. */
import { type ResourceType, resourceType, selectable } from './resource-type.ts';
import {
  all,
  cluster,
  created,
  extensions,
  fields,
  generation,
  namespaced,
  notDone,
  path,
  type Row,
  returned,
  short,
  status,
  statusOnly,
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
  selectable('source.component', '', 'source'),
  selectable('type'),
];
const podSubresources = [
  ...['attach', 'exec', 'portforward', 'proxy', 'log', 'binding', 'ephemeralcontainers', 'eviction', 'resize'],
];
const replicas = fields(selectable('status.replicas', '0'));
/** The status of a new object. */
const phase = (name: string) => ({ initialStatus: { phase: name } });
const balanced = { initialStatus: { loadBalancer: {} } };

const groups: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    namespaced('ConfigMap', short('cm')),
    namespaced('Endpoints', { plural: 'endpoints' }, short('ep'), created),
    namespaced('Event', short('ev'), created, fields(...eventFields)),
    namespaced('LimitRange', short('limits'), created),
    cluster(
      'Namespace',
      short('ns'),
      status,
      returned,
      { names: 'label', deleteCollection: false },
      phase('Active'),
      fields(selectable('status.phase')),
      notDone('finalize'),
    ),
    cluster('Node', short('no'), status, fields(selectable('spec.unschedulable', 'false')), notDone('proxy')),
    namespaced('PersistentVolumeClaim', short('pvc'), status, returned, phase('Pending')),
    cluster('PersistentVolume', short('pv'), status, returned, phase('Pending')),
    namespaced(
      'Pod',
      short('po'),
      all,
      status,
      generation,
      returned,
      phase('Pending'),
      fields(...podFields),
      notDone(...podSubresources),
    ),
    namespaced('PodTemplate', generation, returned),
    namespaced('ReplicationController', short('rc'), all, status, generation, replicas, notDone('scale')),
    namespaced('ResourceQuota', short('quota'), status, returned),
    namespaced('Secret', fields(selectable('type'))),
    namespaced('ServiceAccount', short('sa'), returned),
    namespaced(
      'Service',
      short('svc'),
      all,
      status,
      returned,
      created,
      { names: 'label' },
      balanced,
      fields(selectable('spec.clusterIP'), selectable('spec.type', 'ClusterIP')),
      notDone('proxy'),
    ),
  ],
  'admissionregistration.k8s.io/v1': [
    cluster('MutatingAdmissionPolicy', extensions, strict, generation),
    cluster('MutatingAdmissionPolicyBinding', extensions, strict, generation),
    cluster('MutatingWebhookConfiguration', extensions, strict, generation),
    cluster('ValidatingAdmissionPolicy', extensions, strict, generation, statusOnly),
    cluster('ValidatingAdmissionPolicyBinding', extensions, strict, generation),
    cluster('ValidatingWebhookConfiguration', extensions, strict, generation),
  ],
  'apiextensions.k8s.io/v1': [
    cluster('CustomResourceDefinition', extensions, short('crd', 'crds'), generation, strict, statusOnly),
  ],
  'apps/v1': [
    namespaced('ControllerRevision'),
    namespaced('DaemonSet', short('ds'), all, status, generation),
    namespaced('Deployment', short('deploy'), all, status, generation, notDone('scale')),
    namespaced('ReplicaSet', short('rs'), all, status, generation, replicas, notDone('scale')),
    namespaced('StatefulSet', short('sts'), all, status, generation, notDone('scale')),
  ],
  'autoscaling/v2': [namespaced('HorizontalPodAutoscaler', short('hpa'), all, status)],
  'batch/v1': [
    namespaced('CronJob', short('cj'), all, status, generation),
    namespaced('Job', all, status, generation, fields(selectable('status.successful', '0'))),
  ],
  'certificates.k8s.io/v1': [
    cluster(
      'CertificateSigningRequest',
      short('csr'),
      status,
      fields(selectable('spec.signerName')),
      notDone('approval'),
    ),
  ],
  'coordination.k8s.io/v1': [namespaced('Lease', created, strict)],
  'discovery.k8s.io/v1': [namespaced('EndpointSlice', generation)],
  'flowcontrol.apiserver.k8s.io/v1': [
    cluster('FlowSchema', statusOnly, generation),
    cluster('PriorityLevelConfiguration', statusOnly, generation),
  ],
  'networking.k8s.io/v1': [
    cluster('IngressClass', generation),
    namespaced('Ingress', short('ing'), status, generation, balanced),
    cluster('IPAddress', short('ip'), path),
    namespaced('NetworkPolicy', short('netpol'), generation),
    cluster('ServiceCIDR', statusOnly),
  ],
  'node.k8s.io/v1': [cluster('RuntimeClass', created)],
  'policy/v1': [namespaced('PodDisruptionBudget', short('pdb'), status, generation, strict)],
  'rbac.authorization.k8s.io/v1': [
    cluster('ClusterRoleBinding', path, created),
    cluster('ClusterRole', path, created),
    namespaced('RoleBinding', path, created),
    namespaced('Role', path, created),
  ],
  'resource.k8s.io/v1': [
    cluster('DeviceClass', generation, returned),
    namespaced('ResourceClaim', statusOnly, returned),
    namespaced('ResourceClaimTemplate', returned),
    cluster('ResourceSlice', generation, returned, fields(selectable('spec.nodeName'), selectable('spec.driver'))),
  ],
  'scheduling.k8s.io/v1': [cluster('PriorityClass', short('pc'), generation)],
  'storage.k8s.io/v1': [
    cluster('CSIDriver', returned, strict),
    cluster('CSINode', returned, strict),
    namespaced('CSIStorageCapacity', strict),
    cluster('StorageClass', short('sc'), returned),
    cluster('VolumeAttachment', statusOnly, returned, strict),
    cluster('VolumeAttributesClass', short('vac'), returned),
  ],
};

export const builtInTypes: readonly ResourceType[] = Object.entries(groups).flatMap(([apiVersion, rows]) => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return rows.map((row) => resourceType({ group: group ?? '', version: version ?? '', ...row }));
});
