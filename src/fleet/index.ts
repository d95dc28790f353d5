/**
 * For controllers of many clusters: which clusters are in use, informers, queues, leader election.
 *
 * @module clusterprofile-credentials/fleet
 */
import '../util/node-version.ts';

export type { ClusterProfile, Condition } from '../access/cluster-profile.ts';
export { ApiError, FleetError } from '../errors/index.ts';
export type {
  KindOf,
  KubernetesObject,
  ObjectMeta,
  ObjectOf,
  OwnerReference,
  Time,
  TypeOf,
  UntypedObject,
  Wire,
} from '../rest/api/kubernetes-object.ts';
export { Cluster, type ClusterListing } from './cluster.ts';
export type {
  ControllerHandle,
  ControllerOptions,
  ControllerSource,
  ControllerWatch,
  ControllerWatches,
  EnqueueRequest,
  FleetWatch,
  HubControllerOptions,
  HubControllerWatch,
  HubControllerWatches,
  HubReconcileContext,
  ReconcileContext,
  ReconcileRequest,
  ReconcileResult,
  WrittenObject,
} from './controller/options.ts';
export { annotationsChanged, generationChanged, labelsChanged } from './controller/requests.ts';
export { type EventOptions, Events } from './events.ts';
export { Fleet } from './fleet.ts';
export { Hub } from './hub.ts';
export { Informer } from './informer/informer.ts';
export type { InformerEvent, InformerOptions } from './informer/options.ts';
export { LeaderElection } from './leader-election.ts';
export type { LeaderElectionOptions, LeaderElectionRun } from './leader-election-options.ts';
export { byName, clusterKey } from './membership/identity.ts';
export type { ClusterChange } from './membership/reach.ts';
export { FleetMetrics } from './metrics.ts';
export { addFinalizer, finalized, removeFinalizer, setCondition, setControllerReference } from './objects.ts';
export type { FleetOptions } from './options.ts';
export {
  type ClusterResult,
  type ClusterTask,
  type ForEachClusterOptions,
  forEachCluster,
  getProfile,
  type ListProfilesOptions,
  listProfiles,
  type WatchProfilesOptions,
  watchProfiles,
} from './profiles.ts';
export type { ReflectorEvent } from './reflect/events.ts';
export { type ReflectOptions, reflect } from './reflect/reflect.ts';
export type { InformerProblem, ReflectorRestart } from './reflect/reflector.ts';
export type { FleetShardingOptions } from './sharding/options.ts';
export type { ClusterState, ReconcileTrigger } from './telemetry.ts';
