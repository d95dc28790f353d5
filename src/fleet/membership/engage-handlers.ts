/** The functions that are told of each engaged cluster. */
import { abortable } from '../../abortable.ts';
import { FleetError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';

/** Told of a cluster that is taken into use. What it throws puts the cluster into `Backoff`. */
export type EngageHandler = (cluster: Cluster) => unknown;

/** A registration of a function. */
export interface EngageEntry {
  /** Calls it. Once it is ended nobody waits for it, and what it throws is of no consequence. */
  tell(cluster: Cluster): Promise<void>;
  end(): void;
}

export class EngageHandlers {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** An entry of its own for each registration of the same function. */
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

  /** Those that come while somebody goes through them are among them; those that go are not. */
  *[Symbol.iterator](): IterableIterator<EngageHandler> {
    for (const { tell } of this.#entries) yield tell;
  }

  /** Tells a function that came when the cluster was engaged already. Rejects with what it throws; not once the cluster has gone. */
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
