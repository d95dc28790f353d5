/** A controller in one place: what its event sources, its reconciles and its log share. */
import type { Informer } from '../informer/informer.ts';
import type { ClusterQueue } from './cluster-queue.ts';
import type { ReconcileRequest } from './options.ts';
import type { Place } from './place.ts';
import type { Written } from './written.ts';

export interface Attachment {
  readonly place: Place;
  /** The cache of what is reconciled. */
  readonly own: Informer;
  readonly queue: ClusterQueue<ReconcileRequest>;
  readonly written: Written;
  /** Of each source that it follows now: queues what the source has for the keys that `affects` names. */
  readonly queueExisting: Set<(affects: (key: string) => boolean) => Promise<void>>;
  /** All running reconciles, but for those that were given up. */
  readonly running: Set<Promise<unknown>>;
  /** Why it cannot start. */
  problem: string | undefined;
}
