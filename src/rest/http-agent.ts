/**
 * Ways into the dispatcher for other HTTP clients: an agent for those built on `node:http`, which reads their requests inside this
 * process, as a server would; and watches of client-node, which would end at any error.
 */
import type { Agent, IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Duplex, duplexPair, PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Dispatcher } from 'undici';
import { ConnectionError } from '../errors/index.ts';
import { bracket } from '../util/hosts.ts';
import { type AuthenticatedDispatcher, isForeign } from './request/dispatcher.ts';
import { Relay } from './request/layer.ts';
import { originRefusal } from './request/paths.ts';
import { isResumed } from './request/retry.ts';
import { hopByHop, requestName } from './transport/wire-request.ts';

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
    return connectTo(server);
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
    clientEnds.get(request.socket)?.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Without those of the connection to the server: Node writes its own. */
function endToEnd(headers: IncomingHttpHeaders) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name) && name !== 'trailer'));
}

/** The ends of connections that clients have, by those that this process reads. */
const clientEnds = new WeakMap<object, Duplex>();

/** Connects to a server in this process, with what clients take for a verified TLS socket: the one to the cluster is verified. */
function connectTo(server: Server): Duplex {
  const [client, served] = duplexPair();
  clientEnds.set(served, client);
  let timer: NodeJS.Timeout | undefined;
  // An error is for its own end only.
  served.once('close', () => client.destroy());
  client.once('close', () => {
    clearTimeout(timer);
    served.destroy();
  });
  server.emit('connection', served);
  const refresh = () => timer?.refresh();
  /** These mean something only to a network socket. */
  const ignore = () => client;
  return Object.assign(client, {
    encrypted: true,
    authorized: true,
    setKeepAlive: ignore,
    setNoDelay: ignore,
    ref: ignore,
    unref: ignore,
    /** As a socket does, emits `timeout` after this many milliseconds without data; 0 turns it off. */
    setTimeout(ms: number, onTimeout?: () => void): Duplex {
      clearTimeout(timer);
      timer = ms > 0 ? setTimeout(() => client.emit('timeout'), ms).unref() : undefined;
      if (onTimeout && ms > 0) client.once('timeout', onTimeout);
      for (const end of [client, served]) end.off('data', refresh).on('data', refresh);
      return client;
    },
  });
}

/** Milliseconds until a watch that has not begun fails with the reason: client-node gives up after 30 s, and no longer says why. */
export const defaultPatienceMs = 28_000;

/** Whether a URL asks for a watch. */
export function isWatch(url: string): boolean {
  return ['true', '1'].includes(URL.parse(url)?.searchParams.get('watch') ?? '');
}

/** A dispatcher for watches on top of the authenticated one. */
export function watchesOf(inner: AuthenticatedDispatcher, longestMs = defaultPatienceMs): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) => {
    if (isForeign(handler)) return inner.dispatch(options, handler);
    // A watch that continues from a version is an informer's, which continues only after client-node's own timeout.
    const patienceMs = isResumed(options.path) ? undefined : longestMs;
    const watch = new WatchRequest(inner, options, handler, patienceMs);
    return inner.watch(options, watch, performance.now() + (patienceMs ?? Number.POSITIVE_INFINITY));
  };
  return Object.assign(new Dispatcher(), { dispatch });
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
      this.#dispatcher.log.cleared('watch', 'watches begin again');
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
