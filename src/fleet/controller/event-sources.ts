/** The event sources of a controller: changes of objects on a cluster, and on the hub, become requests in the queue of a place. */
import type { Logger } from '../../observability/logger.ts';
import { type KubernetesObject, keyOf, keyOfName } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import { ask, guard, type LogFields } from '../guard.ts';
import type { Hub } from '../hub.ts';
import type { Informer } from '../informer/informer.ts';
import type { Change } from '../informer/options.ts';
import type { ClusterChange, Reach } from '../membership/reach.ts';
import { inTurns } from '../reflect/turns.ts';
import type { ReconcileTrigger } from '../telemetry.ts';
import type { ControllerSource, FleetWatch, ReconcileRequest } from './options.ts';
import type { Attachment } from './place.ts';
import { ownersOf, passes, readRequests, requestOf } from './requests.ts';
import { type AnyWatch, type Complete, type ControllerSettings, informerOf } from './settings.ts';

export interface FollowContext {
  readonly hub: Hub;
  readonly logger: Logger;
  reach(graceMs: number, tell: (change: ClusterChange) => void): Reach;
  readonly fields: LogFields;
  /** The sources are followed until it aborts. */
  readonly signal: AbortSignal;
}

/** Whose changes they are. */
interface Origin {
  /** Absent for objects of the hub. */
  readonly cluster: string | undefined;
  readonly role: NonNullable<ReconcileTrigger['source']>;
}

/** Objects that are handled in one turn of the event loop. */
const atOnce = 200;

/** Queues existing objects, and changes from then on. Resolves when the existing ones are queued. Rejects only if the place ends. */
export async function follow(
  attachment: Attachment,
  { for: main, mains, owns, watches, fleetWatches }: ControllerSettings,
  context: FollowContext,
): Promise<void> {
  const { place } = attachment;
  const { signal, cluster } = place;
  const owned = owns.map((source) => ({ source, informer: informerOf(place.informers, source) }));
  // Clusters are followed when they are engaged.
  const watched = watches.flatMap((watch) =>
    watch.on === 'clusters'
      ? []
      : { watch, informer: informerOf((watch.on === 'hub' ? context.hub : place).informers, watch) },
  );
  const ofPlace = { cluster: cluster?.name };
  await Promise.all(
    mains.flatMap((source) => {
      const own = informerOf(place.informers, source);
      return [
        listen(attachment, own, source, { ...ofPlace, role: 'for' }, context, (object) => [requestOf(object)]),
        own.synced({ signal }),
      ];
    }),
  );
  // A listener that is added after the end would never be removed from the hub's caches.
  signal.throwIfAborted();
  const namespaced = attachment.mains.some(({ isNamespaced }) => isNamespaced);
  await Promise.all([
    ...owned.map(({ source, informer }) =>
      listen(attachment, informer, source, { ...ofPlace, role: 'owns' }, context, (object) =>
        ownersOf(object, main, namespaced),
      ),
    ),
    ...watched.map(({ watch, informer }) => followWatch(attachment, watch, informer, cluster, context)),
    ...[...owned, ...watched].map(({ informer }) => informer.synced({ signal })),
  ]);
  signal.throwIfAborted();
  for (const watch of fleetWatches) followFleet(attachment, watch, context);
}

/** Queues the requests that `map` returns for each change of a cluster of this replica. */
function followFleet(attachment: Attachment, { graceMs, map }: Complete<FleetWatch>, context: FollowContext): void {
  const { logger, fields, signal } = context;
  const tell = (change: ClusterChange, isStart: boolean, affects: (key: string) => boolean = () => true) => {
    const { cluster, type } = change;
    const what = `map of ${type} ${cluster}`;
    const requests = ask(logger, { ...fields, cluster }, what, () => map(change), readRequests) ?? [];
    const affected = requests.filter((request) => affects(keyOfName(request)));
    const reason = isStart ? 'start' : 'event';
    queueAll(attachment, affected, isStart, { reason, source: 'watches', cluster, event: type });
  };
  let hasBegun = false;
  const reach = context.reach(graceMs, (change) => tell(change, !hasBegun));
  hasBegun = true;
  const queueExisting = async (affects: (key: string) => boolean) => {
    for (const change of reach.told) tell(change, true, affects);
  };
  attachment.queueExisting.add(queueExisting);
  const end = () => {
    reach.close();
    attachment.queueExisting.delete(queueExisting);
  };
  signal.addEventListener('abort', end, { once: true });
}

/** Queues what `map` returns for the objects of an informer, and for their changes from then on. */
export function followWatch(
  attachment: Attachment,
  watch: AnyWatch,
  informer: Informer,
  cluster: Cluster | undefined,
  context: FollowContext,
): Promise<void> {
  const isOnHub = watch.on === 'hub' || !cluster;
  const origin = { cluster: isOnHub ? undefined : cluster.name, role: 'watches' } as const;
  return listen(attachment, informer, watch, origin, context, (object) => mapped(watch, object, cluster, context));
}

/** The object before a change and after it, as far as there is one. */
function sidesOf({ before, after, gone }: Change<KubernetesObject>): readonly KubernetesObject[] {
  return [before, after ?? gone].flatMap((object) => object ?? []);
}

function queueAll(
  { place, queue }: Attachment,
  requests: readonly ReconcileRequest[],
  initial: boolean,
  trigger: ReconcileTrigger,
): void {
  for (const request of requests) {
    const key = keyOfName(request);
    if (place.owns(key)) queue.add(key, request, initial ? 'initial' : 'change', trigger);
  }
}

function mapped(
  watch: AnyWatch,
  object: KubernetesObject,
  cluster: Cluster | undefined,
  { logger, fields }: FollowContext,
): readonly ReconcileRequest[] {
  const key = keyOf(object);
  const what = `map of ${watch.kind} ${key}`;
  return ask(logger, { ...fields, object: key }, what, () => watch.map(object, { cluster }), readRequests) ?? [];
}

/** Queues requests for the existing objects, and for relevant changes from now on. Resolves when all existing ones are queued. */
function listen(
  attachment: Attachment,
  informer: Informer,
  source: ControllerSource<KubernetesObject>,
  { cluster, role }: Origin,
  context: FollowContext,
  requestsOf: (object: KubernetesObject) => readonly ReconcileRequest[],
): Promise<void> {
  const { logger, fields, signal } = context;
  const { apiVersion, kind } = source;
  const origin = { source: role, ...(cluster === undefined ? {} : { cluster }), apiVersion, kind } as const;
  const queueExisting = (affects: (key: string) => boolean) =>
    inTurns(informer, informer.list(), atOnce, (object) => {
      const key = keyOf(object);
      // An error for one object does not keep the others from being queued.
      guard(logger, { ...fields, object: key }, `a listener for ${object.kind} ${key}`, () => {
        const affected = requestsOf(object).filter((request) => affects(keyOfName(request)));
        queueAll(attachment, affected, true, { reason: 'start', ...origin, object: key });
      });
    });
  attachment.queueExisting.add(queueExisting);
  const unsubscribe = informer.subscribe((change) => {
    if (!passes(source, change, context)) return;
    const { key, before, after, initial } = change;
    const event = !before ? 'Added' : after ? 'Modified' : 'Deleted';
    const trigger = { reason: initial ? 'start' : 'event', ...origin, object: key, event } as const;
    for (const object of sidesOf(change)) queueAll(attachment, requestsOf(object), initial, trigger);
  });
  const end = () => {
    unsubscribe();
    attachment.queueExisting.delete(queueExisting);
  };
  signal.addEventListener('abort', end, { once: true });
  return queueExisting(() => true);
}
