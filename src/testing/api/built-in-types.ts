/** The kinds of Kubernetes v1.36 that are stored: their names are discovery's, their rules those of its registry. */
import { coreTypes } from './core-types.ts';
import { type ResourceType, resourceType, selectable } from './resource-type.ts';
import {
  all,
  cluster,
  content,
  counts,
  created,
  extensions,
  fields,
  generation,
  namespaced,
  orphans,
  path,
  type Row,
  returned,
  scale,
  short,
  status,
  statusOnly,
  strict,
} from './type-rules.ts';

const storageClassContent = [
  ...['provisioner', 'parameters', 'reclaimPolicy', 'mountOptions', 'allowVolumeExpansion', 'volumeBindingMode'],
  'allowedTopologies',
];
const groups: Readonly<Record<string, readonly Row[]>> = {
  v1: coreTypes,
  'admissionregistration.k8s.io/v1': [
    cluster('MutatingAdmissionPolicy', extensions, strict, generation),
    cluster('MutatingAdmissionPolicyBinding', extensions, strict, generation),
    cluster('MutatingWebhookConfiguration', extensions, strict, generation, content('webhooks')),
    cluster('ValidatingAdmissionPolicy', extensions, strict, generation, statusOnly),
    cluster('ValidatingAdmissionPolicyBinding', extensions, strict, generation),
    cluster('ValidatingWebhookConfiguration', extensions, strict, generation, content('webhooks')),
  ],
  'apiextensions.k8s.io/v1': [
    cluster('CustomResourceDefinition', extensions, short('crd', 'crds'), generation, strict, statusOnly),
  ],
  'apps/v1': [
    namespaced('ControllerRevision', content('data', 'revision')),
    namespaced(
      'DaemonSet',
      short('ds'),
      all,
      status,
      generation,
      counts('currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'),
    ),
    namespaced('Deployment', short('deploy'), all, status, generation, scale('matchLabels')),
    namespaced(
      'ReplicaSet',
      short('rs'),
      all,
      status,
      generation,
      scale('matchLabels'),
      counts('replicas'),
      fields(selectable('status.replicas', '0')),
    ),
    namespaced(
      'StatefulSet',
      short('sts'),
      all,
      status,
      generation,
      scale('matchLabels'),
      counts('replicas', 'availableReplicas'),
    ),
  ],
  'autoscaling/v2': [namespaced('HorizontalPodAutoscaler', short('hpa'), all, status)],
  'batch/v1': [
    namespaced('CronJob', short('cj'), all, status, generation),
    namespaced('Job', all, orphans, status, generation, fields(selectable('status.successful', '0'))),
  ],
  'certificates.k8s.io/v1': [
    cluster('CertificateSigningRequest', short('csr'), status, fields(selectable('spec.signerName')), {
      notDone: ['approval'],
    }),
  ],
  'coordination.k8s.io/v1': [namespaced('Lease', created, strict)],
  'discovery.k8s.io/v1': [namespaced('EndpointSlice', generation, content('addressType', 'endpoints', 'ports'))],
  'flowcontrol.apiserver.k8s.io/v1': [
    cluster('FlowSchema', statusOnly, generation),
    cluster('PriorityLevelConfiguration', statusOnly, generation),
  ],
  'networking.k8s.io/v1': [
    cluster('IngressClass', generation),
    namespaced('Ingress', short('ing'), status, generation, { initialStatus: { loadBalancer: {} } }),
    cluster('IPAddress', short('ip'), path),
    namespaced('NetworkPolicy', short('netpol'), generation),
    cluster('ServiceCIDR', statusOnly),
  ],
  'node.k8s.io/v1': [cluster('RuntimeClass', created, content('handler', 'overhead', 'scheduling'))],
  'policy/v1': [
    namespaced(
      'PodDisruptionBudget',
      short('pdb'),
      status,
      generation,
      strict,
      counts('disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'),
    ),
  ],
  'rbac.authorization.k8s.io/v1': [
    cluster('ClusterRoleBinding', path, created, content('subjects', 'roleRef')),
    cluster('ClusterRole', path, created, content('rules', 'aggregationRule')),
    namespaced('RoleBinding', path, created, content('subjects', 'roleRef')),
    namespaced('Role', path, created, content('rules')),
  ],
  'resource.k8s.io/v1': [
    cluster('DeviceClass', generation, returned),
    namespaced('ResourceClaim', statusOnly, returned),
    namespaced('ResourceClaimTemplate', returned),
    cluster('ResourceSlice', generation, returned, fields(selectable('spec.nodeName'), selectable('spec.driver'))),
  ],
  'scheduling.k8s.io/v1': [
    cluster(
      'PriorityClass',
      short('pc'),
      generation,
      content('value', 'globalDefault', 'description', 'preemptionPolicy'),
    ),
  ],
  'storage.k8s.io/v1': [
    cluster('CSIDriver', returned, strict),
    cluster('CSINode', returned, strict),
    namespaced(
      'CSIStorageCapacity',
      strict,
      content('nodeTopology', 'storageClassName', 'capacity', 'maximumVolumeSize'),
    ),
    cluster('StorageClass', short('sc'), returned, content(...storageClassContent)),
    cluster('VolumeAttachment', statusOnly, returned, strict),
    cluster('VolumeAttributesClass', short('vac'), returned, content('driverName', 'parameters')),
  ],
};

export const builtInTypes: readonly ResourceType[] = Object.entries(groups).flatMap(([apiVersion, rows]) => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return rows.map((row) => resourceType({ group: group ?? '', version: version ?? '', ...row }));
});
