/** The kinds of the core group of Kubernetes v1.36 that are stored. */
import { selectable } from './resource-type.ts';
import {
  all,
  anyFinalizer,
  content,
  counts,
  created,
  generation,
  orphans,
  type Row,
  returned,
  scale,
  short,
  status,
  streams,
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

const eventContent = [
  ...['involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type', 'eventTime'],
  ...['series', 'action', 'related', 'reportingComponent', 'reportingInstance'],
];

export const coreTypes: readonly Row[] = [
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
];
