/** The `onEngage` functions of a fleet. */
import { FleetError } from '../../errors/index.ts';
import { abortable } from '../../util/abortable.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';

/** Called with each cluster that is being engaged. An error puts the cluster into `Backoff`. */
export type EngageHandler = (cluster: Cluster) => unknown;

/** The registration of a handler. */
export interface EngageEntry {
  /** Calls the handler. After `end` it is not waited for, and its error is ignored. */
  tell(cluster: Cluster): Promise<void>;
  end(): void;
}

export class EngageHandlers {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** One for each registration: a function may be registered twice. */
  readonly #entries = new Set<EngageEntry>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  add(handler: EngageHandler): EngageEntry {
    const ended = new AbortController();
    const entry: EngageEntry = {
      tell: async (cluster) => {
        try {
          await abortable(async () => handler(cluster), ended.signal);
        } catch (error) {
          if (!ended.signal.aborted) throw error;
        }
      },
      end: () => {
        this.#entries.delete(entry);
        ended.abort();
      },
    };
    this.#entries.add(entry);
    return entry;
  }

  /** Includes handlers that are added during the iteration. */
  *[Symbol.iterator](): IterableIterator<EngageHandler> {
    for (const { tell } of this.#entries) yield tell;
  }

  /** Calls a handler that was registered after the cluster was engaged. Rejects with its error, unless the cluster was disengaged. */
  async tellLate(cluster: Cluster, handler: EngageHandler): Promise<void> {
    let cancel = () => {};
    try {
      const late = new Promise<never>((_, reject) => {
        const message = `an onEngage function did not end within ${this.#timeoutMs} ms: start long work without waiting for it`;
        cancel = this.#clock.after(this.#timeoutMs, () =>
          reject(new FleetError('TIMEOUT', message, { cluster: cluster.name })),
        );
      });
      await abortable(() => Promise.race([late, (async () => handler(cluster))()]), cluster.signal);
    } catch (error) {
      if (!cluster.signal.aborted) throw error;
    } finally {
      cancel();
    }
  }
}
