/** Which requests use HTTP/1.1 and which HTTP/2: the one rule, for the pools of one cluster and one identity. */
import type { buildConnector } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { Pool } from './pool.ts';
import { type PooledRequest, type PoolOptions, poolDefaults, type WireRequest } from './pooled-request.ts';

/** What the TLS alert of a server that speaks only HTTP/2 becomes in Node. */
const noApplicationProtocol = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';

/**
 * Long-running requests use HTTP/2, where a hundred share a connection and pings detect a dead peer. All others use HTTP/1.1: it
 * takes Node a third less CPU, a request is written in the event-loop turn in which its fence was asked, and a body that is given
 * up costs one socket and not the connection of everybody else. A server that speaks only HTTP/2 gets everything over it.
 */
export class RequestPool {
  readonly #short: Pool;
  readonly #longRunning: Pool;
  /** The server has refused HTTP/1.1. */
  #onlyH2 = false;

  /** `createConnector` gives what opens sockets, with HTTP/2 or without. */
  constructor(
    origin: string,
    createConnector: (allowH2: boolean) => buildConnector.connector,
    options: Partial<PoolOptions>,
  ) {
    const settings = { ...poolDefaults, ...options };
    const connect = createConnector(false);
    this.#short = new Pool(
      origin,
      (target, callback) =>
        connect(target, (...result) => {
          if (result[0] && 'code' in result[0] && result[0].code === noApplicationProtocol) this.#useOnlyH2();
          callback(...result);
        }),
      settings,
      { short: true },
    );
    this.#longRunning = new Pool(origin, createConnector(true), settings);
  }

  /** Sends a request, at once if there is a socket for it. The request is notified of its outcome. */
  send(options: WireRequest, request: PooledRequest): void {
    // undici joins repeated headers on HTTP/2, and two groups to impersonate are not one with a comma in its name.
    const repeated = repeatedHeader(options.headers);
    if (repeated !== undefined && this.#onlyH2) request.notSent(cannotRepeat(repeated));
    else if (this.#onlyH2 || (request.longRunning && repeated === undefined)) this.#longRunning.send(options, request);
    else this.#short.send(options, request);
  }

  /** Takes a request back that has not been sent yet. */
  forget(request: PooledRequest): void {
    this.#short.forget(request);
    this.#longRunning.forget(request);
  }

  /** Lets every request end by itself, and every socket after it. Resolves when all are closed. */
  async retire(): Promise<void> {
    await Promise.all([this.#short.retire(), this.#longRunning.retire()]);
  }

  /** Ends every request and every socket. */
  destroy(error: Error): void {
    this.#short.destroy(error);
    this.#longRunning.destroy(error);
  }

  #useOnlyH2(): void {
    this.#onlyH2 = true;
    for (const [request, options] of this.#short.takeWaiting()) this.send(options, request);
  }
}

function repeatedHeader(headers: WireRequest['headers']): string | undefined {
  const values = Object(headers);
  for (const name in values) if (Array.isArray(values[name]) && values[name].length > 1) return name;
  return undefined;
}

function cannotRepeat(header: string): RequestError {
  const message =
    `the request repeats the header ${header}, which takes HTTP/1.1, and the server speaks only HTTP/2: ` +
    'send it once (impersonate one group at most), or let the gateway in front of the server offer HTTP/1.1';
  return new RequestError('REQUEST_INVALID', message);
}
