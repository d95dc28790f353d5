/** The `onEngage` and `onDisengage` functions of a fleet. */
import { FleetError } from '../../errors/index.ts';
import type { Logger } from '../../observability/logger.ts';
import { abortable } from '../../util/abortable.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import { guard } from '../guard.ts';

/** Called with each cluster that is being engaged. An error puts the cluster into `Backoff`. */
export type EngageHandler = (cluster: Cluster) => unknown;

/** Called with each cluster that has been let go. `reason` is that of the cluster's signal. An error is logged. */
export type DisengageHandler = (cluster: Cluster, reason: FleetError) => unknown;

/** The registration of a handler. */
interface EngageEntry {
  readonly tell: EngageHandler;
  end(): void;
}

export class EngageHandlers {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** One `tell` for each registration: a function may be registered twice. */
  readonly #tells = new Set<EngageHandler>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  add(handler: EngageHandler): EngageEntry {
    const tell: EngageHandler = async (cluster) => handler(cluster);
    this.#tells.add(tell);
    return { tell, end: () => void this.#tells.delete(tell) };
  }

  /** Includes handlers that are added during the iteration. */
  [Symbol.iterator](): IterableIterator<EngageHandler> {
    return this.#tells.values();
  }

  /** Calls a handler that was registered after the cluster was engaged. Rejects with its error, unless the cluster was disengaged. */
  async tellLate(cluster: Cluster, handler: EngageHandler): Promise<void> {
    const late = new AbortController();
    const cancel = this.#clock.after(this.#timeoutMs, () => {
      const message = `an onEngage function did not end within ${this.#timeoutMs} ms: start long work without waiting for it`;
      late.abort(new FleetError('TIMEOUT', message, { cluster: cluster.name }));
    });
    try {
      await abortable(async () => handler(cluster), AbortSignal.any([cluster.signal, late.signal]));
    } catch (error) {
      if (!cluster.signal.aborted) throw error;
    } finally {
      cancel();
    }
  }
}

export class DisengageHandlers {
  readonly #logger: Logger;
  /** One for each registration: a function may be registered twice. */
  readonly #entries = new Set<{ readonly handler: DisengageHandler }>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(handler: DisengageHandler): Disposable {
    const entry = { handler };
    this.#entries.add(entry);
    return { [Symbol.dispose]: () => void this.#entries.delete(entry) };
  }

  tell(cluster: Cluster, reason: FleetError): void {
    for (const { handler } of [...this.#entries])
      guard(this.#logger, { cluster: cluster.name }, `an onDisengage function for ${cluster.name}`, () =>
        handler(cluster, reason),
      );
  }
}
