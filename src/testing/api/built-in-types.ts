/** The kinds of Kubernetes v1.36 that are stored: their names are discovery's, their rules those of its registry. */
import { coreTypes } from './core-types.ts';
import { type ResourceType, resourceType, selectable } from './resource-type.ts';
import {
  all,
  anyFinalizer,
  content,
  counts,
  created,
  extensions,
  generation,
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
    [
      'MutatingAdmissionPolicy',
      'mutatingadmissionpolicies',
      'cluster',
      { ...extensions, ...anyFinalizer, ...strict, ...generation },
    ],
    [
      'MutatingAdmissionPolicyBinding',
      'mutatingadmissionpolicybindings',
      'cluster',
      { ...extensions, ...anyFinalizer, ...strict, ...generation },
    ],
    [
      'MutatingWebhookConfiguration',
      'mutatingwebhookconfigurations',
      'cluster',
      { ...extensions, ...anyFinalizer, ...strict, ...generation, ...content('webhooks') },
    ],
    [
      'ValidatingAdmissionPolicy',
      'validatingadmissionpolicies',
      'cluster',
      { ...extensions, ...anyFinalizer, ...strict, ...generation, ...statusOnly },
    ],
    [
      'ValidatingAdmissionPolicyBinding',
      'validatingadmissionpolicybindings',
      'cluster',
      { ...extensions, ...anyFinalizer, ...strict, ...generation },
    ],
    [
      'ValidatingWebhookConfiguration',
      'validatingwebhookconfigurations',
      'cluster',
      { ...extensions, ...anyFinalizer, ...strict, ...generation, ...content('webhooks') },
    ],
  ],
  'apiextensions.k8s.io/v1': [
    [
      'CustomResourceDefinition',
      'customresourcedefinitions',
      'cluster',
      { ...extensions, ...short('crd', 'crds'), ...generation, ...strict, ...statusOnly, ...anyFinalizer },
    ],
  ],
  'apps/v1': [
    ['ControllerRevision', 'controllerrevisions', 'namespaced', content('data', 'revision')],
    [
      'DaemonSet',
      'daemonsets',
      'namespaced',
      {
        ...short('ds'),
        ...all,
        ...status,
        ...generation,
        ...counts('currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady'),
      },
    ],
    [
      'Deployment',
      'deployments',
      'namespaced',
      {
        ...short('deploy'),
        ...all,
        ...status,
        statusKeeps: 'labels',
        ...generation,
        generationCounts: 'annotations',
        ...scale('matchLabels'),
      },
    ],
    [
      'ReplicaSet',
      'replicasets',
      'namespaced',
      {
        ...short('rs'),
        ...all,
        ...status,
        ...generation,
        ...scale('matchLabels'),
        ...counts('replicas'),
        fields: [selectable('status.replicas', '0')],
      },
    ],
    [
      'StatefulSet',
      'statefulsets',
      'namespaced',
      {
        ...short('sts'),
        ...all,
        ...status,
        ...generation,
        ...scale('matchLabels'),
        ...counts('replicas', 'availableReplicas'),
      },
    ],
  ],
  'autoscaling/v2': [
    ['HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'namespaced', { ...short('hpa'), ...all, ...status }],
  ],
  'batch/v1': [
    ['CronJob', 'cronjobs', 'namespaced', { ...short('cj'), ...all, ...status, ...generation }],
    [
      'Job',
      'jobs',
      'namespaced',
      { ...all, ...orphans, ...status, ...generation, fields: [selectable('status.successful', '0')] },
    ],
  ],
  'certificates.k8s.io/v1': [
    [
      'CertificateSigningRequest',
      'certificatesigningrequests',
      'cluster',
      { ...short('csr'), ...status, fields: [selectable('spec.signerName')], notDone: ['approval'] },
    ],
  ],
  'coordination.k8s.io/v1': [['Lease', 'leases', 'namespaced', { ...created, ...strict, ...anyFinalizer }]],
  'discovery.k8s.io/v1': [
    [
      'EndpointSlice',
      'endpointslices',
      'namespaced',
      { ...generation, generationCounts: 'labels', ...content('addressType', 'endpoints', 'ports') },
    ],
  ],
  'flowcontrol.apiserver.k8s.io/v1': [
    ['FlowSchema', 'flowschemas', 'cluster', { ...statusOnly, ...generation }],
    ['PriorityLevelConfiguration', 'prioritylevelconfigurations', 'cluster', { ...statusOnly, ...generation }],
  ],
  'networking.k8s.io/v1': [
    ['IngressClass', 'ingressclasses', 'cluster', generation],
    [
      'Ingress',
      'ingresses',
      'namespaced',
      { ...short('ing'), ...status, ...generation, initialStatus: { loadBalancer: {} } },
    ],
    ['IPAddress', 'ipaddresses', 'cluster', { ...short('ip'), ...path }],
    ['NetworkPolicy', 'networkpolicies', 'namespaced', { ...short('netpol'), ...generation }],
    ['ServiceCIDR', 'servicecidrs', 'cluster', statusOnly],
  ],
  'node.k8s.io/v1': [
    [
      'RuntimeClass',
      'runtimeclasses',
      'cluster',
      { ...anyFinalizer, ...created, ...content('handler', 'overhead', 'scheduling') },
    ],
  ],
  'policy/v1': [
    [
      'PodDisruptionBudget',
      'poddisruptionbudgets',
      'namespaced',
      {
        ...anyFinalizer,
        ...short('pdb'),
        ...status,
        ...generation,
        ...strict,
        ...counts('disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'),
      },
    ],
  ],
  'rbac.authorization.k8s.io/v1': [
    [
      'ClusterRoleBinding',
      'clusterrolebindings',
      'cluster',
      { ...path, ...created, ...content('subjects', 'roleRef') },
    ],
    ['ClusterRole', 'clusterroles', 'cluster', { ...path, ...created, ...content('rules', 'aggregationRule') }],
    ['RoleBinding', 'rolebindings', 'namespaced', { ...path, ...created, ...content('subjects', 'roleRef') }],
    ['Role', 'roles', 'namespaced', { ...path, ...created, ...content('rules') }],
  ],
  'resource.k8s.io/v1': [
    ['DeviceClass', 'deviceclasses', 'cluster', { ...generation, ...returned }],
    ['ResourceClaim', 'resourceclaims', 'namespaced', { ...statusOnly, ...returned }],
    ['ResourceClaimTemplate', 'resourceclaimtemplates', 'namespaced', returned],
    [
      'ResourceSlice',
      'resourceslices',
      'cluster',
      { ...generation, ...returned, fields: [selectable('spec.nodeName'), selectable('spec.driver')] },
    ],
  ],
  'scheduling.k8s.io/v1': [
    [
      'PriorityClass',
      'priorityclasses',
      'cluster',
      { ...short('pc'), ...generation, ...content('value', 'globalDefault', 'description', 'preemptionPolicy') },
    ],
  ],
  'storage.k8s.io/v1': [
    ['CSIDriver', 'csidrivers', 'cluster', { ...returned, ...strict }],
    ['CSINode', 'csinodes', 'cluster', { ...returned, ...strict }],
    [
      'CSIStorageCapacity',
      'csistoragecapacities',
      'namespaced',
      { ...strict, ...content('nodeTopology', 'storageClassName', 'capacity', 'maximumVolumeSize') },
    ],
    ['StorageClass', 'storageclasses', 'cluster', { ...short('sc'), ...returned, ...content(...storageClassContent) }],
    ['VolumeAttachment', 'volumeattachments', 'cluster', { ...statusOnly, ...returned, ...strict }],
    [
      'VolumeAttributesClass',
      'volumeattributesclasses',
      'cluster',
      { ...short('vac'), ...returned, ...content('driverName', 'parameters') },
    ],
  ],
};

export const builtInTypes: readonly ResourceType[] = Object.entries(groups).flatMap(([apiVersion, rows]) => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return rows.map(([kind, plural, scope, rules = {}]) =>
    resourceType({
      group: group ?? '',
      version: version ?? '',
      kind,
      plural,
      namespaced: scope === 'namespaced',
      ...rules,
    }),
  );
});
