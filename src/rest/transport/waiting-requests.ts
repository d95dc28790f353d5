import type { Dispatcher } from 'undici';
import type { PooledRequest } from './pooled-request.ts';

/** How often the queue is checked within the time that a connection may take. */
const looks = 4;

/** Requests that no socket has taken yet, oldest first. */
export class WaitingRequests {
  readonly #requests = new Map<PooledRequest, Dispatcher.DispatchOptions>();
  readonly #lookMs: number;
  readonly #look: () => void;
  /** Runs while requests wait. It keeps the process alive: nothing else may. */
  #timer: NodeJS.Timeout | undefined;

  /** Calls `look` a few times within `patienceMs`, while requests wait. */
  constructor(patienceMs: number, look: () => void) {
    this.#lookMs = patienceMs / looks;
    // After a blocked event loop the timers come first: read what the servers have sent meanwhile before that.
    this.#look = () => setImmediate(look);
  }

  get size(): number {
    return this.#requests.size;
  }

  add(request: PooledRequest, options: Dispatcher.DispatchOptions): void {
    request.waitsSince ??= performance.now();
    this.#requests.set(request, options);
    this.#timer ??= setInterval(this.#look, this.#lookMs);
  }

  delete(request: PooledRequest): void {
    this.#requests.delete(request);
    if (this.#requests.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.iterator](): IterableIterator<[PooledRequest, Dispatcher.DispatchOptions]> {
    return this.#requests.entries();
  }

  /** Fails those that `which` selects, by when they began to wait and by their place in the queue. */
  fail(error: Error, which: (since: number, index: number) => boolean = () => true): void {
    const failed = [...this.#requests.keys()].filter(({ waitsSince = 0 }, index) => which(waitsSince, index));
    // Requests that come during these calls wait for the next dial.
    for (const request of failed) this.delete(request);
    for (const request of failed) request.notSent(error);
  }
}
