import type { buildConnector, Dispatcher } from 'undici';
import { Pool } from './pool.ts';
import { type PooledRequest, type PoolOptions, poolDefaults } from './pooled-request.ts';

/** Sockets for short requests, beside those for everything. */
const maxQuickSockets = 32;
/** Milliseconds after which a short request goes out on HTTP/2 again. */
const mainUseMs = 20_000;
/** Requests within a second from which a socket for short requests is worth its handshake. */
const busyRate = 50;

/**
 * The pools of one cluster and one identity: HTTP/2 for everything, and HTTP/1.1 for short requests once there are many of
 * them, because Node spends about two thirds of the time on them. A watch stays on HTTP/2, where a hundred share a
 * connection and a dead peer is noticed.
 */
export class RequestPool {
  readonly #main: Pool;
  readonly #quick: Pool;
  #recent = 0;
  #mainUsedAt = Number.NEGATIVE_INFINITY;
  #since = 0;

  /** `createConnector` gives what opens sockets, with HTTP/2 or without. */
  constructor(
    origin: string,
    createConnector: (allowH2: boolean) => buildConnector.connector,
    options: Partial<PoolOptions>,
  ) {
    const settings = { ...poolDefaults, ...options };
    this.#quick = new Pool(origin, createConnector(false), settings);
    // HTTP/1.1 has no pings: a peer that is silent on HTTP/2 will not answer there either.
    this.#main = new Pool(origin, createConnector(true), settings, (error) => this.#quick.abandon(error));
  }

  /** Sends a request, at once if there is a socket for it. The request is notified of its outcome. */
  send(options: Dispatcher.DispatchOptions, request: PooledRequest): void {
    const quick = this.#quick;
    // Node writes the frames of HTTP/2 in a later turn: after a blocked one, long after the fence has let the request pass. undici
    // joins repeated headers there, and two groups to impersonate are not one with a comma in its name.
    if ((request.fenced && !request.longRunning) || Object.values(options.headers ?? {}).some(isRepeated)) {
      quick.send(options, request);
      return;
    }
    const now = performance.now();
    if (this.#main.protocol === 'h2' && this.#isBusy(now) && !request.longRunning) {
      // One now and then keeps the connection that notices a dead peer.
      if (now - this.#mainUsedAt < mainUseMs && quick.offer(options, request, maxQuickSockets)) return;
    }
    this.#mainUsedAt = now;
    this.#main.send(options, request);
  }

  /** Takes a request back that has not been sent yet. */
  forget(request: PooledRequest): void {
    this.#main.forget(request);
    this.#quick.forget(request);
  }

  /** Lets every request end by itself, and every socket after it. Resolves when all are closed. */
  async retire(): Promise<void> {
    await Promise.all([this.#main.retire(), this.#quick.retire()]);
  }

  /** Ends every request and every socket. */
  destroy(error: Error): void {
    this.#main.destroy(error);
    this.#quick.destroy(error);
  }

  /** Whether there have been many requests within this second or the last. */
  #isBusy(now: number): boolean {
    const elapsed = now - this.#since;
    if (elapsed > 1_000) {
      this.#recent = elapsed > 2_000 ? 0 : Math.min(this.#recent, busyRate);
      this.#since = now;
    }
    this.#recent += 1;
    return this.#recent > busyRate;
  }
}

const isRepeated = (value: unknown) => Array.isArray(value) && value.length > 1;
