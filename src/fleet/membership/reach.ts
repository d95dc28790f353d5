/** Which of this replica's clusters can be reached: what controllers with `on: 'fleet'` receive. */
import { within } from '../../rest/api/api-server.ts';
import { pause } from '../../util/abortable.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import type { ClusterLifecycle } from './cluster-lifecycle.ts';
import { checkAnswers } from './engagement.ts';
import type { FleetProfile } from './identity.ts';
import { failureOf, replaced, type Why } from './status.ts';

/** What has become of a cluster. */
export interface ClusterChange {
  /**
   * `Engaged`: it is in use. `Unreachable`: for `graceMs` it could not be engaged, or did not answer. `Reachable`: it is back. `Gone`: its
   * ClusterProfile was deleted, or is in the fleet no more.
   */
  readonly type: 'Engaged' | 'Unreachable' | 'Reachable' | 'Gone';
  /** `namespace/name` of its ClusterProfile. */
  readonly cluster: string;
  /** The newest, and the last one of a cluster that is gone. */
  readonly profile: FleetProfile;
  /** A stable code, as `fleet.list()` has it. */
  readonly reason: string;
  readonly message: string;
}

interface Tracked {
  profile: FleetProfile;
  /** The last change that was told. */
  told: ClusterChange | undefined;
  /** Why it cannot be reached. */
  down: Why | undefined;
  /** Ends the grace. */
  cancel: () => void;
  /** Whose answers are looked at. */
  cluster: Cluster | undefined;
}

/** @internal */
interface ReachOptions {
  /** Milliseconds for which a cluster is away before that is reported. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  tell(change: ClusterChange): void;
}

/** Milliseconds for an answer. */
const answerMs = 15_000;
const [shortestMs, longestMs] = [1_000, 20_000];

/**
 * @internal
 * Level-triggered: the first look reports the state, and later looks each change that lasts. A cluster of another replica
 * is forgotten: that one tells.
 */
export class Reach {
  readonly #options: ReachOptions;
  readonly #tracked = new Map<string, Tracked>();

  constructor(options: ReachOptions) {
    this.#options = options;
    const stop = () => {
      for (const { cancel } of this.#tracked.values()) cancel();
    };
    options.signal.addEventListener('abort', stop, { once: true });
  }

  /** What is the case now: each cluster that was told of. */
  get told(): readonly ClusterChange[] {
    return [...this.#tracked.values()].flatMap(({ told }) => told ?? []);
  }

  /** Looks at a cluster whose status, profile or owner may have changed. */
  look({ name, facts }: ClusterLifecycle): void {
    if (this.#options.signal.aborted) return;
    const { profile, status, cluster, isEngageable, gone } = facts;
    const known = this.#tracked.get(name);
    const isAnother = known && known.profile.metadata.uid !== profile.metadata.uid;
    if (!isEngageable || isAnother || gone) this.#forget(name);
    if (!isEngageable) return;
    if (isAnother) this.#tell(known, 'Gone', replaced);
    if (gone) {
      this.#tell(known ?? track(profile), 'Gone', gone);
      return;
    }
    const tracked = this.#tracked.get(name) ?? track(profile);
    tracked.profile = profile;
    this.#tracked.set(name, tracked);
    if (cluster && tracked.cluster !== cluster) {
      tracked.cluster = cluster;
      this.#isUp(tracked, status);
      void this.#ask(tracked, cluster);
    } else if (status.state === 'Backoff' || status.state === 'NotReady') this.#isDown(tracked, status);
  }

  #forget(name: string): void {
    this.#tracked.get(name)?.cancel();
    this.#tracked.delete(name);
  }

  #isUp(tracked: Tracked, why: Why): void {
    tracked.cancel();
    tracked.down = undefined;
    if (!tracked.told) this.#tell(tracked, 'Engaged', why);
    else if (tracked.told.type === 'Unreachable') this.#tell(tracked, 'Reachable', why);
  }

  #isDown(tracked: Tracked, why: Why): void {
    const since = tracked.down;
    tracked.down = why;
    if (since || tracked.told?.type === 'Unreachable') return;
    tracked.cancel = this.#options.clock.after(this.#options.graceMs, () => {
      if (tracked.down) this.#tell(tracked, 'Unreachable', tracked.down);
    });
  }

  /** No informer may be watching an engaged cluster, so nothing else would notice that it is away. Ends with the cluster. */
  async #ask(tracked: Tracked, cluster: Cluster): Promise<void> {
    const { clock, graceMs } = this.#options;
    const everyMs = Math.max(shortestMs, Math.min(graceMs / 3, longestMs));
    const signal = AbortSignal.any([cluster.signal, this.#options.signal]);
    for (;;) {
      await pause(everyMs, signal, clock).catch(() => undefined);
      if (signal.aborted) return;
      const failure = await within(clock, answerMs, `no answer within ${answerMs} ms`, (limit) =>
        checkAnswers(cluster.config, AbortSignal.any([signal, limit])),
      ).then(
        () => undefined,
        (error: unknown) => failureOf('REQUEST', error),
      );
      if (signal.aborted || tracked.cluster !== cluster) return;
      if (failure) this.#isDown(tracked, failure);
      else this.#isUp(tracked, { reason: 'ENGAGED', message: cluster.config.access.cluster.server });
    }
  }

  #tell(tracked: Tracked, type: ClusterChange['type'], { reason, message }: Why): void {
    const { profile } = tracked;
    const { namespace, name } = profile.metadata;
    tracked.told = { type, cluster: `${namespace}/${name}`, profile, reason, message };
    this.#options.tell(tracked.told);
  }
}

function track(profile: FleetProfile): Tracked {
  return { profile, told: undefined, down: undefined, cancel: () => {}, cluster: undefined };
}
