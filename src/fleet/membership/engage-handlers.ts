/** The functions that are told of each engaged cluster. */
import { abortable } from '../../abortable.ts';
import { FleetError } from '../../errors.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';

/** Told of a cluster that is taken into use. What it throws puts the cluster into `Backoff`. */
export type EngageHandler = (cluster: Cluster) => unknown;

export class EngageHandlers {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** An entry of its own for each registration of the same function. */
  readonly #entries = new Set<{ readonly handler: EngageHandler }>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns what takes it away. */
  add(handler: EngageHandler): Disposable {
    const entry = { handler };
    this.#entries.add(entry);
    return { [Symbol.dispose]: () => void this.#entries.delete(entry) };
  }

  /** Those that come while somebody goes through them are among them; those that go are not. */
  *[Symbol.iterator](): IterableIterator<EngageHandler> {
    for (const { handler } of this.#entries) yield handler;
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
