/** The kinds of the core group of Kubernetes v1.36 that are stored. */
import { selectable } from './resource-type.ts';
import {
  all,
  cluster,
  content,
  counts,
  created,
  fields,
  generation,
  namespaced,
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
  namespaced('ConfigMap', short('cm'), content('data', 'binaryData', 'immutable')),
  namespaced('Endpoints', { plural: 'endpoints' }, short('ep'), created, content('subsets')),
  namespaced('Event', short('ev'), created, content(...eventContent), fields(...eventFields)),
  namespaced('LimitRange', short('limits'), created),
  cluster('Namespace', short('ns'), status, returned, {
    names: 'label',
    deleteCollection: false,
    initialStatus: { phase: 'Active' },
    fields: [selectable('status.phase')],
    notDone: ['finalize'],
  }),
  cluster('Node', short('no'), status, { fields: [selectable('spec.unschedulable', 'false')], notDone: ['proxy'] }),
  namespaced('PersistentVolumeClaim', short('pvc'), status, returned, { initialStatus: { phase: 'Pending' } }),
  cluster('PersistentVolume', short('pv'), status, returned, { initialStatus: { phase: 'Pending' } }),
  namespaced('Pod', short('po'), all, status, generation, returned, {
    initialStatus: { phase: 'Pending' },
    fields: podFields,
    notDone: [...streams, 'binding', 'ephemeralcontainers', 'eviction', 'resize'],
  }),
  namespaced('PodTemplate', generation, returned, content('template')),
  namespaced(
    'ReplicationController',
    short('rc'),
    all,
    orphans,
    status,
    generation,
    scale(),
    counts('replicas'),
    fields(selectable('status.replicas', '0')),
  ),
  namespaced('ResourceQuota', short('quota'), status, returned),
  namespaced('Secret', content('data', 'type', 'immutable'), fields(selectable('type'))),
  namespaced(
    'ServiceAccount',
    short('sa'),
    returned,
    content('secrets', 'imagePullSecrets', 'automountServiceAccountToken'),
  ),
  namespaced('Service', short('svc'), all, status, returned, created, {
    names: 'service',
    initialStatus: { loadBalancer: {} },
    fields: [selectable('spec.clusterIP'), selectable('spec.type', 'ClusterIP')],
    notDone: ['proxy'],
  }),
];
