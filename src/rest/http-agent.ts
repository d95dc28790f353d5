/**
 * An agent for HTTP clients built on `node:http`: it reads their requests inside this process, as a server would, and sends them through
 * the dispatcher. So the clients need to know nothing of credentials, certificates and proxies.
 */
import type { Agent, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type Duplex, PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Dispatcher } from 'undici';
import { bracket } from '../util/hosts.ts';
import { originRefusal } from './request/bounds.ts';
import type { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { PairedSocket } from './socket-pair.ts';
import { hopByHop } from './transport/headers.ts';
import { isWatch } from './watch-dispatcher.ts';

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
