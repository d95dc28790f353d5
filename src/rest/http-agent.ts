/**
 * Ways into the dispatcher for other HTTP clients: an agent for those built on `node:http`, which reads their requests inside this
 * process, as a server would; and watches of client-node, which would end at any error.
 */
import type { Agent, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Duplex, PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Dispatcher } from 'undici';
import { ConnectionError } from '../errors/index.ts';
import { bracket } from '../util/hosts.ts';
import { type AuthenticatedDispatcher, isForeign } from './request/dispatcher.ts';
import { requestName } from './request/layer.ts';
import { originRefusal } from './request/paths.ts';
import { Relay } from './request/relay.ts';
import { isResumed } from './request/retry.ts';
import { hopByHop } from './transport/headers.ts';

/** An import of them would load Node's own `fetch` and WebSocket with them. */
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/** The largest headers of a request in bytes, including its URL. */
const maxHeaderSize = 1024 * 1024;

type Connected = (error: Error | null, socket?: Duplex) => void;

/** `watches` is for requests that ask for a watch. */
export function createHttpAgent(dispatcher: AuthenticatedDispatcher, watches: Dispatcher): Agent {
  const { origin } = dispatcher;
  const server = http.createServer({ maxHeaderSize }, (request, response) => {
    forward(isWatch(`${origin}${request.url}`) ? watches : dispatcher, origin, request, response);
  });
  const isTls = origin.startsWith('https:');
  const createConnection: Agent['createConnection'] = ({ host, port }, done: Connected) => {
    const wanted = `${isTls ? 'https' : 'http'}://${bracket(host ?? '')}:${port}`;
    if (URL.parse(wanted)?.origin !== origin) {
      done(originRefusal(dispatcher, wanted));
      return undefined;
    }
    const [client, served] = PairedSocket.pair();
    server.emit('connection', served);
    return client;
  };
  // One connection for each request: it costs nothing, and none is left over.
  return Object.assign(new (isTls ? https : http).Agent({ keepAlive: false }), { createConnection });
}

async function forward(
  dispatcher: Dispatcher,
  origin: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  response.once('close', () => left.abort());
  const { method, url: path = '/', rawHeaders, headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
  try {
    const answer = await dispatcher.request({
      origin,
      path,
      method: method as Dispatcher.HttpMethod, // undici refuses what it does not know
      headers: rawHeaders,
      // Not the request itself: it would be destroyed with an upload that the server stops reading, and the response with it.
      body: hasBody ? request.pipe(new PassThrough()) : null,
      signal: left.signal,
    });
    response.sendDate = false;
    response.writeHead(answer.statusCode, endToEnd(answer.headers));
    // The head at once: a watch may be quiet for long. As flushHeaders(), but that would write it as UTF-8.
    response.write('', 'latin1');
    await pipeline(answer.body, response);
    // Discards what the server did not read.
    request.unpipe().resume();
  } catch (error) {
    const { socket }: { readonly socket: unknown } = request;
    if (socket instanceof PairedSocket) socket.failOther(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Without those of the connection to the server: Node writes its own. */
function endToEnd(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name) && name !== 'trailer'));
}

/** Acts as a verified TLS socket for clients that look: the connection to the server behind it has been verified. */
class PairedSocket extends Duplex {
  readonly encrypted = true;
  readonly authorized = true;
  #other: PairedSocket | undefined;
  /** The other end waits until this one is read. */
  #written: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  static pair(): readonly [client: PairedSocket, server: PairedSocket] {
    const client = new PairedSocket();
    const server = new PairedSocket();
    client.#join(server);
    server.#join(client);
    return [client, server];
  }

  #join(other: PairedSocket): void {
    this.#other = other;
  }

  /** Ends both ends: requests on the other one fail with this error. */
  failOther(error: Error): void {
    this.#other?.destroy(error);
  }

  /** As a socket does, emits `timeout` after this many milliseconds without data; 0 turns it off. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    clearTimeout(this.#timer);
    this.#timer = ms > 0 ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined;
    if (onTimeout && ms > 0) this.once('timeout', onTimeout);
    return this;
  }

  /** These mean something only to a network socket. */
  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#timer?.refresh();
    const other = this.#other;
    if (!other || other.destroyed) return done();
    other.#timer?.refresh();
    if (other.push(chunk)) done();
    else other.#written = done;
  }

  override _final(done: () => void): void {
    this.#other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    const other = this.#other;
    // The error is for this end only.
    process.nextTick(() => other?.destroy());
    done(error);
  }
}

/** Milliseconds until a watch that has not begun fails with the reason: client-node gives up after 30 s, and no longer says why. */
export const defaultPatienceMs = 28_000;

/** Whether a URL asks for a watch. */
export function isWatch(url: string): boolean {
  return ['true', '1'].includes(URL.parse(url)?.searchParams.get('watch') ?? '');
}

/** A dispatcher for watches on top of the authenticated one. */
export class WatchDispatcher extends Dispatcher {
  readonly #inner: AuthenticatedDispatcher;
  readonly #patienceMs: number;

  constructor(inner: AuthenticatedDispatcher, patienceMs = defaultPatienceMs) {
    super();
    this.#inner = inner;
    this.#patienceMs = patienceMs;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (isForeign(handler)) return this.#inner.dispatch(options, handler);
    // A watch that continues from a version is an informer's, which continues only after client-node's own timeout.
    const patienceMs = isResumed(options.path) ? undefined : this.#patienceMs;
    const watch = new WatchRequest(this.#inner, options, handler, patienceMs);
    return this.#inner.watch(options, watch, performance.now() + (patienceMs ?? Number.POSITIVE_INFINITY));
  }
}

class WatchRequest extends Relay {
  readonly #dispatcher: AuthenticatedDispatcher;
  readonly #name: string;
  readonly #silence: NodeJS.Timeout | undefined;
  #began = false;

  /** A watch without an answer ends after `patienceMs`. */
  constructor(
    dispatcher: AuthenticatedDispatcher,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    patienceMs: number | undefined,
  ) {
    super(handler);
    this.#dispatcher = dispatcher;
    this.#name = `watch ${requestName(options).replace('GET ', '')}`;
    if (patienceMs !== undefined) this.#silence = setTimeout(() => this.#tooSilent(patienceMs), patienceMs).unref();
  }

  #tooSilent(ms: number): void {
    const { state, log } = this.#dispatcher;
    const message =
      `${this.#name} had no answer in ${ms / 1_000} s, and client-node waits for 30 s only ` +
      `(credential: ${state}): check why the plugin, the server or a proxy in between takes so long`;
    this.abort(new ConnectionError('RESPONSE_TIMEOUT', log.cluster, message));
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    // Informational responses, such as early hints, come before it.
    if (statusCode >= 200) clearTimeout(this.#silence);
    if (statusCode === 200) {
      this.#began = true;
      this.#dispatcher.log.watchBegan();
    }
    super.respond(statusCode, headers, message);
  }

  protected override fail(error: Error): void {
    clearTimeout(this.#silence);
    if (this.#began && !this.aborted && !this.#dispatcher.ended) {
      this.#dispatcher.log.debug(`${this.#name} broke off (${error.message}); the watch ends`);
      this.complete({});
    } else {
      super.fail(error);
    }
  }
}
