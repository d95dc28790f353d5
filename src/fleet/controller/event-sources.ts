/** The event sources of a controller: changes of objects on one cluster become requests in the cluster's queue. */
import type { Logger } from '../../observability/logger.ts';
import { type KubernetesObject, keyOf } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import { ask, guard, type LogFields } from '../guard.ts';
import type { Informer } from '../informer/informer.ts';
import type { Change } from '../informer/pending.ts';
import { inTurn } from '../reflect/turns.ts';
import type { ClusterQueue } from './cluster-queue.ts';
import {
  type ControllerOptions,
  type ControllerSource,
  type ControllerWatch,
  informerOf,
  type ReconcileRequest,
} from './options.ts';
import { passes } from './predicates.ts';
import { keyOfRequest, ownersOf, readRequests, requestOf } from './requests.ts';

export interface Followed<T extends KubernetesObject> {
  readonly cluster: Cluster;
  /** The cache of what is reconciled. */
  readonly own: Informer<T>;
  readonly queue: ClusterQueue<ReconcileRequest>;
}

export interface FollowContext {
  readonly logger: Logger;
  readonly fields: LogFields;
  /** Collects the functions that end the subscriptions. */
  readonly subscriptions: (() => void)[];
}

/** Objects that are handled in one turn of the event loop. */
const piece = 200;

/** Queues existing objects, and changes from then on. Resolves when the existing ones are queued. */
export async function follow<T extends KubernetesObject>(
  { cluster, own, queue }: Followed<T>,
  { for: main, owns, watches }: Required<Pick<ControllerOptions<T>, 'for' | 'owns' | 'watches'>>,
  context: FollowContext,
): Promise<void> {
  const others = [...owns, ...watches].map((source) => ({ source, informer: informerOf(cluster, source) }));
  const queued = listen(own, main, context, ({ key, before, after, gone, initial }) => {
    const object = after ?? gone ?? before;
    if (object) queue.add(key, requestOf(object), initial ? 'initial' : 'change');
  });
  await Promise.all([queued, own.synced()]);
  const namespaced = owns.length > 0 && (await cluster.isNamespaced(main));
  const followed = others.map(({ source, informer }, index) => {
    const watch = watches[index - owns.length];
    return listen(informer, source, context, ({ before, after, gone, initial }) => {
      for (const object of [before, after ?? gone]) {
        if (!object) continue;
        const requests = watch ? mapped(watch, object, cluster, context) : ownersOf(object, main, namespaced);
        for (const request of requests) queue.add(keyOfRequest(request), request, initial ? 'initial' : 'change');
      }
    });
  });
  await Promise.all([...followed, ...others.map(({ informer }) => informer.synced())]);
}

function mapped(
  watch: ControllerWatch,
  object: KubernetesObject,
  cluster: Cluster,
  { logger, fields }: FollowContext,
): readonly ReconcileRequest[] {
  const key = keyOf(object);
  const what = `map of ${watch.kind} ${key}`;
  return ask(logger, { ...fields, object: key }, what, () => watch.map(object, cluster), readRequests) ?? [];
}

/** Delivers what changes from now on and counts, and what is there. Resolves when all of the latter is delivered, a little in each turn of the event loop. */
async function listen<T extends KubernetesObject>(
  informer: Informer<T>,
  source: ControllerSource<T>,
  context: FollowContext,
  listener: (change: Change<T>) => void,
): Promise<void> {
  const { logger, fields, subscriptions } = context;
  subscriptions.push(
    informer.subscribe((change) => {
      if (passes(source, change, context)) listener(change);
    }),
  );
  const objects = informer.list();
  for (let from = 0; from < objects.length; from += piece) {
    await inTurn(informer, 0, () => {
      for (const after of objects.slice(from, from + piece)) {
        const key = keyOf(after);
        // An error for one object does not keep the others from being queued.
        guard(logger, { ...fields, object: key }, `a listener for ${after.kind} ${key}`, () =>
          listener({ key, before: undefined, after, initial: true }),
        );
      }
    });
  }
}
