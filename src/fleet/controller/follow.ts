/** What a controller works on: changes of objects on one cluster come in, requests in the cluster's lane go out. */
import type { Logger } from '../../logger.ts';
import type { Cluster } from '../cluster.ts';
import type { Kind } from '../discovery.ts';
import { ask, guard, type LogFields } from '../guard.ts';
import type { Informer } from '../informer/informer.ts';
import type { Change } from '../informer/pending.ts';
import { type KubernetesObject, keyOf } from '../kubernetes-object.ts';
import { inSlice } from '../reflect/slices.ts';
import type { Lane } from './lane.ts';
import type { ControllerOptions, ControllerWatch, Request } from './options.ts';
import { keyOfRequest, ownersOf, readRequests, requestOf } from './requests.ts';

export interface Followed<T extends KubernetesObject> {
  readonly cluster: Cluster;
  /** Of what is reconciled. */
  readonly own: Informer<T>;
  readonly lane: Lane<Request>;
}

export interface FollowContext {
  readonly logger: Logger;
  readonly fields: LogFields;
  /** Gets what ends each subscription. */
  readonly subscriptions: (() => void)[];
}

/** How many objects are looked at in one piece. */
const piece = 200;

/** Queues what is there, and from then on what changes. Resolves when all that was there has been queued. */
export async function follow<T extends KubernetesObject>(
  { cluster, own, lane }: Followed<T>,
  { for: main, owns, watches }: Required<Pick<ControllerOptions<T>, 'for' | 'owns' | 'watches'>>,
  context: FollowContext,
): Promise<void> {
  const others = [...owns, ...watches].map((options) => {
    const { map: _, ...rest } = options as ControllerWatch; // an owned resource just has no map
    return cluster.informer(rest);
  });
  // Whether owners have a namespace is known when one of them has been seen, where the server does not say it.
  let namespaced: boolean | undefined = main.namespace === undefined ? undefined : true;
  const told = listen(own, context, ({ key, before, after, gone, initial }) => {
    const object = after ?? gone ?? before;
    if (!object) return;
    namespaced ??= object.metadata.namespace !== undefined;
    lane.add(key, requestOf(object), initial ? 'initial' : 'change');
  });
  await Promise.all([told, own.synced()]);
  if (owns.length > 0) namespaced ??= await cluster.isNamespaced(main);
  const followed = others.map((informer, index) => {
    const watch = watches[index - owns.length];
    return listen(informer, context, ({ before, after, gone, initial }) => {
      for (const object of [before, after ?? gone]) {
        if (!object) continue;
        const requests = watch ? mapped(watch, object, cluster, context) : owners(object, main, namespaced, context);
        for (const request of requests) lane.add(keyOfRequest(request), request, initial ? 'initial' : 'change');
      }
    });
  });
  await Promise.all([...followed, ...others.map((informer) => informer.synced())]);
}

function mapped(
  watch: ControllerWatch,
  object: KubernetesObject,
  cluster: Cluster,
  { logger, fields }: FollowContext,
): readonly Request[] {
  const key = keyOf(object);
  const what = `map of ${watch.kind} ${key}`;
  return ask(logger, { ...fields, object: key }, what, () => watch.map(object, cluster), readRequests) ?? [];
}

function owners(
  object: KubernetesObject,
  main: Kind,
  namespaced: boolean | undefined,
  { logger, fields }: FollowContext,
): readonly Request[] {
  const key = keyOf(object);
  const what = `reading the owners of ${object.kind} ${key}`;
  const fieldsOf = { ...fields, object: key };
  return (
    ask(
      logger,
      fieldsOf,
      what,
      () => object,
      () => ownersOf(object, main, namespaced),
    ) ?? []
  );
}

/** What changes from now on, and what is there. Resolves when all of that has been told, a little in each turn of the event loop. */
async function listen<T extends KubernetesObject>(
  informer: Informer<T>,
  { logger, fields, subscriptions }: FollowContext,
  listener: (change: Change<T>) => void,
): Promise<void> {
  subscriptions.push(informer.subscribe(listener));
  const objects = informer.list();
  for (let from = 0; from < objects.length; from += piece) {
    await inSlice(() => {
      for (const after of objects.slice(from, from + piece)) {
        const key = keyOf(after);
        // As where it changes: one that cannot be looked at keeps no other from being queued.
        guard(logger, { ...fields, object: key }, `a listener for ${after.kind} ${key}`, () =>
          listener({ key, before: undefined, after, initial: true }),
        );
      }
    });
  }
}
