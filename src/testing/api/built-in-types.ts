/** The kinds of Kubernetes v1.36 that are stored: their names are discovery's, their rules those of its registry. */

import { type ResourceType, resourceType, type ScalePaths, selectable } from './resource-type.ts';

type Rules = Partial<Omit<ResourceType, 'group' | 'version' | 'kind' | 'plural' | 'namespaced'>>;
type Row = readonly [kind: string, plural: string, scope: 'namespaced' | 'cluster', rules?: Rules];

const all = { categories: ['all'] };
const extensions = { categories: ['api-extensions'] };
const status = { status: true };
const statusOnly = { status: true, statusKeeps: 'metadata' } as const;
const generation = { generation: true };
const returned = { returnsDeleted: true };
const strict = { unconditionalUpdate: false };
/** Where Kubernetes takes a finalizer of one word. */
const anyFinalizer = { qualifiedFinalizers: false };
const created = { createOnUpdate: true };
const orphans = { orphansDependents: true };
const path = { names: 'path' } as const;
const content = (...fields: readonly string[]) => ({ content: fields });
/** Numbers that a status always has. */
const counts = (...fields: readonly string[]) => {
  const zeros = Object.fromEntries(fields.map((field) => [field, 0]));
  return { initialStatus: zeros, statusDefaults: zeros };
};
const short = (...shortNames: readonly string[]) => ({ shortNames });
const scale = (...selector: readonly string[]): { scale: ScalePaths } => ({
  scale: {
    specReplicas: ['spec', 'replicas'],
    statusReplicas: ['status', 'replicas'],
    selector: ['spec', 'selector', ...selector],
  },
});
const streams = ['attach', 'exec', 'portforward', 'proxy', 'log'];

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

const storageClassContent = [
  ...['provisioner', 'parameters', 'reclaimPolicy', 'mountOptions', 'allowVolumeExpansion', 'volumeBindingMode'],
  'allowedTopologies',
];
const eventContent = [
  ...['involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type', 'eventTime'],
  ...['series', 'action', 'related', 'reportingComponent', 'reportingInstance'],
];

const groups: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    ['ConfigMap', 'configmaps', 'namespaced', { ...short('cm'), ...content('data', 'binaryData', 'immutable') }],
    ['Endpoints', 'endpoints', 'namespaced', { ...short('ep'), ...created, ...content('subsets') }],
    [
      'Event',
      'events',
      'namespaced',
      { ...anyFinalizer, ...short('ev'), ...created, ...content(...eventContent), fields: eventFields },
    ],
    ['LimitRange', 'limitranges', 'namespaced', { ...short('limits'), ...created }],
    [
      'Namespace',
      'namespaces',
      'cluster',
      {
        ...short('ns'),
        ...status,
        ...returned,
        names: 'label',
        deleteCollection: false,
        initialStatus: { phase: 'Active' },
        fields: [selectable('status.phase')],
        notDone: ['finalize'],
      },
    ],
    [
      'Node',
      'nodes',
      'cluster',
      { ...short('no'), ...status, fields: [selectable('spec.unschedulable', 'false')], notDone: ['proxy'] },
    ],
    [
      'PersistentVolumeClaim',
      'persistentvolumeclaims',
      'namespaced',
      { ...short('pvc'), ...status, ...returned, initialStatus: { phase: 'Pending' } },
    ],
    [
      'PersistentVolume',
      'persistentvolumes',
      'cluster',
      { ...short('pv'), ...status, ...returned, initialStatus: { phase: 'Pending' } },
    ],
    [
      'Pod',
      'pods',
      'namespaced',
      {
        ...short('po'),
        ...all,
        ...status,
        ...generation,
        ...returned,
        statusKeeps: 'ownerReferences',
        initialStatus: { phase: 'Pending' },
        fields: podFields,
        notDone: [...streams, 'binding', 'ephemeralcontainers', 'eviction', 'resize'],
      },
    ],
    ['PodTemplate', 'podtemplates', 'namespaced', { ...generation, ...returned, ...content('template') }],
    [
      'ReplicationController',
      'replicationcontrollers',
      'namespaced',
      {
        ...short('rc'),
        ...all,
        ...orphans,
        ...status,
        ...generation,
        ...scale(),
        ...counts('replicas'),
        fields: [selectable('status.replicas', '0')],
      },
    ],
    ['ResourceQuota', 'resourcequotas', 'namespaced', { ...short('quota'), ...status, ...returned }],
    ['Secret', 'secrets', 'namespaced', { ...content('data', 'type', 'immutable'), fields: [selectable('type')] }],
    [
      'ServiceAccount',
      'serviceaccounts',
      'namespaced',
      { ...short('sa'), ...returned, ...content('secrets', 'imagePullSecrets', 'automountServiceAccountToken') },
    ],
    [
      'Service',
      'services',
      'namespaced',
      {
        ...short('svc'),
        ...all,
        ...status,
        ...returned,
        ...created,
        names: 'service',
        initialStatus: { loadBalancer: {} },
        fields: [selectable('spec.clusterIP'), selectable('spec.type', 'ClusterIP')],
        notDone: ['proxy'],
      },
    ],
  ],
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
