import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { watchForSilence, watchSession } from './h2-session.ts';
import {
  inPieces,
  isUpload,
  type PooledRequest,
  type PoolOptions,
  repeatedHeader,
  UnsentError,
  type WireRequest,
} from './wire-request.ts';

/** Callbacks of a pool for its socket. */
interface PooledSocketEvents {
  /** It takes requests again, or it is known how many it takes. */
  readonly changed: () => void;
  /** It takes no more requests; those under way may go on. */
  readonly ended: () => void;
  /** The socket has closed. */
  readonly closed: () => void;
}

const ignore = () => undefined;
/** A request that is over before undici writes it. On HTTP/1.1 `abort` would end the socket too. */
const neverWritten: Dispatcher.DispatchHandler = {
  onRequestStart: () => {
    throw new Error('it is not to be written');
  },
  onResponseStart: ignore,
  onResponseData: ignore,
  onResponseEnd: ignore,
  onResponseError: ignore,
};

/** One connected socket with an undici client around it, which never connects a second time. */
export class PooledSocket {
  readonly protocol: 'h1' | 'h2';
  readonly #socket: Socket;
  readonly #client: Client;
  /** Gives the HTTP/2 session, once there has been a stream. */
  readonly #session: ReturnType<typeof watchSession>;
  /** No more requests until undici says so. */
  #busy = false;
  /**
   * What the server lets it carry: `open` to requests, or `shut` if it allows no stream for now. HTTP/2 begins as `new`, since
   * the server has not told it yet.
   */
  #state: 'new' | 'open' | 'shut';
  #stateSince = Number.POSITIVE_INFINITY;
  /** The request that is about to be written. */
  #starting: Dispatcher.DispatchController | undefined;
  #ended = false;
  /** Takes no more requests; those under way go on. */
  #leaving = false;
  #proven = false;
  /** On HTTP/1.1: the request that it carries has a long body. */
  #isUpload = false;
  readonly #free: () => void;

  constructor(origin: string, socket: Socket, options: PoolOptions, events: PooledSocketEvents) {
    this.#socket = socket;
    this.protocol = socket instanceof TLSSocket && socket.alpnProtocol === 'h2' ? 'h2' : 'h1';
    this.#state = this.protocol === 'h1' ? 'open' : 'new';
    let given = false;
    this.#client = new Client(origin, {
      allowH2: true,
      connect: (_options, callback) => {
        const taken = given || socket.destroyed;
        given = true;
        // undici looks at its queue again only when it is called back later. And within the end of a handshake Node 26 keeps what is
        // written until its caller returns, while a fence counts on its going out at once.
        setImmediate(() => {
          if (taken || socket.destroyed) callback(new UnsentError('the connection was closed'), null);
          else callback(null, socket);
        });
      },
      // undici gives up a slow link, too, on which the answer to a ping comes behind data: `watchForSilence` pings instead.
      h2Options: { pingInterval: 0 },
      keepAliveTimeout: options.keepAliveTimeoutMs,
      // A server may allow a longer time than the balancers in between.
      keepAliveMaxTimeout: options.keepAliveTimeoutMs,
      headersTimeout: options.responseTimeoutMs,
      bodyTimeout: options.responseTimeoutMs,
    });
    const end = () => {
      if (this.#ended) return;
      this.#ended = true;
      // Requests that undici has not sent, and those a departing server has not processed, fail with this; the rest goes on.
      this.#client.destroy(new UnsentError('the connection was closed by the server'), ignore);
      events.ended();
    };
    this.#client.on('disconnect', end);
    this.#client.on('connectionError', end);
    this.#free = () => {
      this.#busy = false;
      if (this.#state === 'new' && this.#stateSince < Number.POSITIVE_INFINITY) this.#state = 'open';
      if (!this.#ended) events.changed();
    };
    if (this.protocol === 'h2') this.#client.on('drain', this.#free);
    this.#session = watchSession(socket, {
      allows: (streams) => this.#allows(streams, events),
      leaks: () => {
        if (this.#ended || this.#leaving) return;
        this.#leaving = true;
        events.ended();
        this.close();
      },
      streamBegins: () => {
        const wire = this.#starting;
        this.#starting = undefined;
        return wire;
      },
    });
    socket.on('error', ignore);
    socket.once('close', () => {
      end();
      events.closed();
    });
    if (this.protocol === 'h2') watchForSilence(socket, options.pingIntervalMs, () => this.#ping());
    queueMicrotask(() => this.#attach());
  }

  /**
   * Gives the socket to undici though no request needs it now: the caller that it was opened for may have given up. Unread, its
   * end would go unnoticed, and the next request would be lost on it; nor would it be closed after a long idle time. undici
   * connects only for a request: this one is never written.
   */
  #attach(): void {
    if (this.#ended || this.#client.stats.size > 0) return;
    this.#client.dispatch({ path: '/', method: 'GET' }, neverWritten);
  }

  /** It takes no request now. */
  get busy(): boolean {
    return this.#busy || this.#ended || this.#leaving || this.#socket.destroyed || this.#session()?.destroyed === true;
  }

  /** What the server lets it carry, be it busy with that or not. */
  get state(): 'new' | 'open' | 'shut' {
    return this.#state;
  }

  /** When the first request was sent on one that is `new`, or when it became `shut`. */
  get stateSince(): number {
    return this.#stateSince;
  }

  /** Nothing is under way on it. */
  get idle(): boolean {
    return this.#client.stats.size === 0;
  }

  /**
   * On HTTP/1.1 undici also calls itself busy for a turn of the event loop after a response. It reports the end before it looks
   * whether the connection ends with it, and then closes it: a request that was taken at once would be lost with it.
   */
  #requestEnded(): void {
    if (this.protocol !== 'h1') return;
    queueMicrotask(() => {
      if (this.#leaving) this.#socket.destroy();
      else if (this.#isUpload && this.#socket.writableLength > 0) setImmediate(this.#freeIfWritten);
      else this.#free();
    });
  }

  /**
   * After an upload: if the server has answered early, the next request would wait behind the rest of the body. Node reports what it
   * has written in the same turn of the event loop, but may read the response first.
   */
  readonly #freeIfWritten = (): void => {
    if (this.#socket.writableLength > 0) this.#socket.destroy();
    else this.#free();
  };

  /** Node sends no ping on a session that it has closed, as at a GOAWAY, while streams go on. */
  #ping(): boolean {
    const session = this.#session();
    if (!session || session.closed || session.destroyed) return false;
    session.ping(ignore);
    return true;
  }

  send(given: WireRequest, request: PooledRequest): void {
    const repeated = this.protocol === 'h2' ? repeatedHeader(given) : undefined;
    if (repeated !== undefined) {
      request.onResponseError(undefined, cannotRepeat(repeated));
      return;
    }
    // A quiet watch is not a dead one.
    let options = request.longRunning ? { headersTimeout: 0, bodyTimeout: 0, ...given } : given;
    request.reused = this.#proven;
    const handler = this.#handlerOf(request);
    if (this.protocol === 'h1') {
      this.#busy = true;
      this.#isUpload = isUpload(given);
      this.#client.dispatch(options, handler);
      return;
    }
    if (isUpload(given)) options = inPieces(options);
    if (this.#state === 'new') this.#stateSince = Math.min(this.#stateSince, performance.now());
    // undici takes a second request only once it has the server's settings.
    if (this.#client.dispatch(options, handler)) this.#state = 'open';
    // False also stands for a request that undici refuses, after which no `drain` comes.
    else if (!handler.failed) this.#busy = true;
  }

  /** Passes everything on to a request, and notes when it is written, answered and over. */
  #handlerOf(request: PooledRequest): Dispatcher.DispatchHandler & { failed: boolean } {
    // undici may start a request a second time by itself, with another controller (a stream that the server refused).
    let wire: Dispatcher.DispatchController | undefined;
    const handler: Dispatcher.DispatchHandler & { failed: boolean } = {
      failed: false,
      onRequestStart: (controller, context) => {
        wire = controller;
        this.#starting = controller;
        request.onRequestStart(controller, context);
      },
      onResponseStart: (controller, statusCode, headers, message) => {
        this.#proven = true;
        // The server may not have read the body, and close the connection after the response, or never read on.
        if (statusCode >= 400 && this.#isUpload) this.#leaving = true;
        request.onResponseStart(controller, statusCode, headers, message);
      },
      onResponseData: (controller, chunk) => request.onResponseData(controller, chunk),
      onResponseEnd: (controller, trailers) => {
        this.#requestEnded();
        request.onResponseEnd(controller, trailers);
      },
      // undici has another controller, or none, for a request that it has not started.
      onResponseError: (_controller, error) => {
        handler.failed = true;
        this.#requestEnded();
        request.onResponseError(wire, error);
      },
    };
    return handler;
  }

  /** The server has said how many streams it allows at once. undici knows it too, and emits `drain` when one is free again. */
  #allows(streams: number, events: PooledSocketEvents): void {
    if (this.#state === 'open' && streams === 0) this.#stateSince = performance.now();
    this.#state = streams === 0 ? 'shut' : 'open';
    if (this.#client.stats.running >= streams) this.#busy = true;
    if (!this.#ended) events.changed();
  }

  /** Lets its requests end. */
  close(): void {
    if (!this.#client.closed && !this.#client.destroyed) {
      this.#client.close(() => this.#socket.destroy());
    }
  }

  /** Ends its requests with the error. */
  destroy(error: Error): void {
    this.#ended = true;
    this.#client.destroy(error, ignore);
    // After a GOAWAY the client knows nothing of its socket any more.
    this.#socket.destroy(error);
  }
}

function cannotRepeat(header: string): RequestError {
  const message =
    `the request repeats the header ${header}, which takes HTTP/1.1, and the server speaks only HTTP/2: ` +
    'send it once (impersonate one group at most), or let the gateway in front of the server offer HTTP/1.1';
  return new RequestError('REQUEST_INVALID', message);
}
