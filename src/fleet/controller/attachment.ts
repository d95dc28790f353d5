/** A controller in one place: what its event sources, its reconciles and its log share. */
import type { Informer } from '../informer/informer.ts';
import type { ClusterQueue } from './cluster-queue.ts';
import type { ReconcileRequest } from './options.ts';
import type { Place } from './place.ts';
import type { Written } from './written.ts';

export interface FollowedSource {
  /** Queues what it has for the keys that `affects` names. */
  queueExisting(affects: (key: string) => boolean): Promise<void>;
}

export interface Attachment {
  readonly place: Place;
  /** The cache of what is reconciled. */
  readonly own: Informer;
  readonly queue: ClusterQueue<ReconcileRequest>;
  readonly written: Written;
  /** Those that it follows now. */
  readonly sources: Set<FollowedSource>;
  /** All running reconciles, but for those that were given up. */
  readonly running: Set<Promise<unknown>>;
  /** Why it cannot start. */
  problem: string | undefined;
}
