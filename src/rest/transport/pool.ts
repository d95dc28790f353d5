/**
 * The sockets of one cluster and one identity. Requests come in with their headers, and go out on a socket that is connected
 * already: a pool dials first, so it knows which protocol a socket speaks, and what waits can fail with a dial or be forgotten.
 * It must not know what a credential is.
 */
import type { Socket } from 'node:net';
import type { Connector } from './connector.ts';
import { PooledSocket } from './pooled-socket.ts';
import type { PooledRequest, PoolOptions, WireRequest } from './wire-request.ts';

/** The server takes connections, and no request on them. */
class NoStreamError extends Error {
  readonly code = 'ERR_NO_STREAM';
}

/** Sockets for short requests, and how many more there may be each time all of them are stuck. */
const shortSockets = 32;
/** Dials that are opened at once: a thousand would time out together. */
const maxFreshDials = 32;
/** Dials in flight at once, including those that no longer count. */
const maxDials = 64;
/** Milliseconds for which a dial counts: later requests get another one, since the server may be back meanwhile. */
const freshMs = 1_000;
/** What one HTTP/2 connection carries, until the server says otherwise. */
const streamsPerSocket = 100;

/** A connection that is being opened. */
interface Dial {
  readonly startedAt: number;
  /** The requests that it was for were given up. */
  abandoned: boolean;
}

/** Whether requests that come now can count on a dial. */
function isFresh({ startedAt, abandoned }: Dial): boolean {
  return !abandoned && performance.now() - startedAt < freshMs;
}

export class Pool {
  readonly #origin: string;
  readonly #connect: Connector;
  readonly #options: PoolOptions;
  /** Those that take requests. */
  readonly #open = new Set<PooledSocket>();
  /** Sockets that are not closed, including those that only finish their requests. */
  readonly #sockets = new Set<PooledSocket>();
  readonly #waiting: WaitingRequests;
  /** What the last socket spoke. */
  #protocol: PooledSocket['protocol'] | undefined;
  readonly #short: boolean;
  /** How many sockets there may be. */
  #limit = Number.POSITIVE_INFINITY;
  readonly #dials = new Set<Dial>();
  /** When the last socket was opened. */
  #openedAt = Number.NEGATIVE_INFINITY;
  /** When a waiting request last got a socket that takes more than one request. */
  #progressAt = Number.NEGATIVE_INFINITY;
  #retiring = false;
  /** Why nothing goes out any more. */
  #ended: Error | undefined;
  readonly #closed = Promise.withResolvers<void>();

  /** A pool for `short` requests alone has a bound of sockets: each carries one request, and is soon free for the next. */
  constructor(origin: string, connect: Connector, options: PoolOptions, kind: 'short' | 'any') {
    this.#origin = origin;
    this.#connect = connect;
    this.#options = options;
    this.#short = kind === 'short';
    this.#waiting = new WaitingRequests(options.connectTimeoutMs, () => this.#check());
  }

  /** Sends a request, at once if there is a socket for it. The request is notified of its outcome. */
  send(options: WireRequest, request: PooledRequest): void {
    if (this.#ended) {
      request.onResponseError(undefined, this.#ended);
      return;
    }
    const socket = this.#waiting.size === 0 ? this.#free() : undefined;
    if (socket) {
      socket.send(options, request);
      return;
    }
    if (this.#short && this.#waiting.size === 0) this.#limit = shortSockets;
    this.#waiting.set(request, options);
    this.#dial(true);
  }

  /** Takes a request back that no socket has taken yet. */
  forget(request: PooledRequest): void {
    this.#waiting.delete(request);
    if (this.#waiting.size === 0) for (const dial of this.#dials) dial.abandoned = true;
    this.#settle();
  }

  /** Lets every request end by itself, and every socket after it. Resolves when all are closed. */
  retire(): Promise<void> {
    this.#retiring = true;
    this.#settle();
    return this.#closed.promise;
  }

  /** Ends every request and every socket. */
  destroy(error: Error): void {
    this.#retiring = true;
    this.#ended ??= error;
    for (const socket of this.#sockets) socket.destroy(error);
    this.#waiting.fail(error);
    this.#settle();
  }

  #free(): PooledSocket | undefined {
    for (const socket of this.#open) if (!socket.busy) return socket;
    return undefined;
  }

  #pump(): void {
    for (const [request, options] of this.#waiting) {
      const socket = this.#free();
      if (!socket) break;
      this.#waiting.delete(request);
      if (socket.state === 'open') this.#progressAt = performance.now();
      socket.send(options, request);
    }
    this.#dial();
    this.#settle();
  }

  /** Opens as many sockets as the waiting requests need. `newcomer`: the last of them has just come. */
  #dial(newcomer = false): void {
    if (this.#waiting.size === 0) return;
    const places = this.#protocol === 'h1' ? 1 : streamsPerSocket;
    const stale = performance.now() - this.#options.connectTimeoutMs;
    const dials = [...this.#dials];
    const freshDials = dials.filter(isFresh).length;
    const unanswered = dials.some((dial) => !isFresh(dial) && dial.startedAt > this.#openedAt);
    let coming = freshDials;
    let shut = 0;
    for (const socket of this.#open) {
      if (socket.state === 'open') continue;
      if (socket.stateSince <= stale) {
        if (!socket.idle) continue;
        this.#open.delete(socket);
        socket.close();
      } else if (socket.state === 'shut') {
        shut += 1;
      } else {
        // It will take more once it has heard the server's settings.
        coming += 1;
      }
    }
    // The server may open one again that it has shut. Another one is worth a try: what answers there may be something else.
    coming += Math.max(0, shut - 1);
    let wanted = Math.ceil(this.#waiting.size / places);
    // Does the server answer again? One dial at a time shows it to requests that came too late for the earlier ones.
    if (unanswered) wanted = newcomer ? Math.min(wanted, 1) : 0;
    // Short requests double their sockets: a burst may be over before it needs more, and a server that is away gets one dial.
    const dialsAtOnce = this.#short ? Math.min(maxFreshDials, Math.max(1, this.#open.size)) : maxFreshDials;
    const most = Math.min(wanted, coming - freshDials + dialsAtOnce);
    const room = Math.min(maxDials, this.#limit - this.#open.size);
    for (; coming < most && this.#dials.size < room; coming += 1) this.#dialOne();
  }

  #dialOne(): void {
    const dial: Dial = { startedAt: performance.now(), abandoned: false };
    this.#dials.add(dial);
    this.#connect()
      .finally(() => this.#dials.delete(dial))
      .then(
        (socket) => this.#add(socket),
        (error: Error) => this.#dialFailed(dial, error),
      );
  }

  #add(connected: Socket): void {
    const socket = new PooledSocket(this.#origin, connected, this.#options, {
      changed: () => this.#pump(),
      ended: () => {
        this.#open.delete(socket);
        this.#pump();
      },
      closed: () => {
        this.#open.delete(socket);
        this.#sockets.delete(socket);
        this.#settle();
      },
    });
    this.#sockets.add(socket);
    this.#openedAt = performance.now();
    this.#protocol = socket.protocol;
    if (this.#ended) {
      socket.destroy(this.#ended);
      return;
    }
    this.#open.add(socket);
    this.#pump();
  }

  /**
   * A failed dial rejects the requests that it counted for, so that they do not queue for a server that is away: all of them
   * where no other connection may come, else the first, and those that saw no socket open for half of the time a dial may take.
   */
  #dialFailed({ startedAt, abandoned }: Dial, error: Error): void {
    const hopeless = this.#open.size === 0 && ![...this.#dials].some(isFresh);
    const patience = performance.now() - this.#options.connectTimeoutMs / 2;
    this.#waiting.fail(
      error,
      (since, index) =>
        !abandoned &&
        since <= startedAt + freshMs &&
        (hopeless || index === 0 || Math.max(since, this.#openedAt) <= patience),
    );
    this.#pump();
  }

  /** Rejects requests that no connection accepted within `connectTimeoutMs`. */
  #check(): void {
    // Requests that the server is slow to answer, on every socket, must not hold up all others.
    if (this.#progressAt <= performance.now() - this.#waiting.checkMs) this.#limit += shortSockets;
    const patience = performance.now() - this.#options.connectTimeoutMs;
    if (this.#dials.size === 0 && this.#progressAt <= patience) {
      const message = 'no connection takes a request: SETTINGS_MAX_CONCURRENT_STREAMS is 0, or has not come';
      this.#waiting.fail(new NoStreamError(message), (since) => since <= patience);
    }
    this.#pump();
  }

  #settle(): void {
    if (!this.#retiring || this.#waiting.size > 0) return;
    for (const socket of this.#open) socket.close();
    if (this.#sockets.size === 0 && this.#dials.size === 0) this.#closed.resolve();
  }
}

/** How often the queue is checked within the time that a connection may take. */
const checks = 4;

/** Requests that no socket has taken yet, oldest first. */
class WaitingRequests extends Map<PooledRequest, WireRequest> {
  /** Milliseconds between two checks. */
  readonly checkMs: number;
  readonly #check: () => void;
  /** Runs while requests wait. It keeps the process alive: nothing else may. */
  #timer: NodeJS.Timeout | undefined;

  /** Calls `check` a few times within `patienceMs`, while requests wait. */
  constructor(patienceMs: number, check: () => void) {
    super();
    this.checkMs = patienceMs / checks;
    // After a blocked event loop the timers come first: read what the servers have sent meanwhile before that.
    this.#check = () => setImmediate(check);
  }

  override set(request: PooledRequest, options: WireRequest): this {
    request.waitsSince ??= performance.now();
    this.#timer ??= setInterval(this.#check, this.checkMs);
    return super.set(request, options);
  }

  override delete(request: PooledRequest): boolean {
    const waited = super.delete(request);
    if (this.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    return waited;
  }

  /** Rejects the requests that `which` selects, by the start of their wait and their position in the queue. */
  fail(error: Error, which: (since: number, index: number) => boolean = () => true): void {
    const failed = [...this.keys()].filter(({ waitsSince = 0 }, index) => which(waitsSince, index));
    // Requests that come during these calls wait for the next dial.
    for (const request of failed) this.delete(request);
    for (const request of failed) request.onResponseError(undefined, error);
  }
}
