import type { PooledRequest, WireRequest } from './pooled-request.ts';

/** How often the queue is checked within the time that a connection may take. */
const checks = 4;

/** Requests that no socket has taken yet, oldest first. */
export class WaitingRequests {
  readonly #requests = new Map<PooledRequest, WireRequest>();
  /** Milliseconds between two checks. */
  readonly checkMs: number;
  readonly #check: () => void;
  /** Runs while requests wait. It keeps the process alive: nothing else may. */
  #timer: NodeJS.Timeout | undefined;

  /** Calls `check` a few times within `patienceMs`, while requests wait. */
  constructor(patienceMs: number, check: () => void) {
    this.checkMs = patienceMs / checks;
    // After a blocked event loop the timers come first: read what the servers have sent meanwhile before that.
    this.#check = () => setImmediate(check);
  }

  get size(): number {
    return this.#requests.size;
  }

  add(request: PooledRequest, options: WireRequest): void {
    request.waitsSince ??= performance.now();
    this.#requests.set(request, options);
    this.#timer ??= setInterval(this.#check, this.checkMs);
  }

  delete(request: PooledRequest): void {
    this.#requests.delete(request);
    if (this.#requests.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.iterator](): IterableIterator<[PooledRequest, WireRequest]> {
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
