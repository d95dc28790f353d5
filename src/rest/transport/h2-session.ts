import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import type { Socket } from 'node:net';

/** The server has broken an answer off in the middle, in a way that Node and undici take for its end. */
export class CutAnswer extends Error {
  readonly code = 'ERR_ANSWER_CUT';
}

/** RFC 9113, section 6.2. */
const headersFrame = 1;

/** The connection is gone, and neither Node nor undici has said so. */
class LostConnection extends Error {
  readonly code = 'ECONNRESET';
}

/** Milliseconds until it is looked whether the connection of a stream that has just begun still stands. */
const firstLookMs = 500;

/** The most milliseconds between two looks: a thousand idle watches must cost nothing to speak of. */
const longestLookMs = 8_000;

/** Callbacks for the events of a stream, before undici handles them. */
export interface StreamEvents {
  /** The server has not looked at it. */
  readonly unseen: () => void;
  /** It has ended with an error that is not of its answer. */
  readonly lost: (error: Error) => void;
}

/** Callbacks for the events of an HTTP/2 session. */
interface SessionWatcher {
  /** The server has said how many streams it allows at once. */
  readonly allows: (streams: number) => void;
  /** A stream begins. Returns the callbacks of its request. */
  readonly streamBegins: () => StreamEvents | undefined;
}

/** Watches the HTTP/2 session of a socket, before any stream of it, and gives it. An answer that the server cuts off fails. */
export function watchSession(socket: Socket, { allows, streamBegins }: SessionWatcher): ClientHttp2Session | undefined {
  const session = sessionOf(socket);
  if (!session) return undefined;
  /** The streams that are open, with what is to be done for each if the server has not looked at it. */
  const open = new Map<ClientHttp2Stream, () => void>();
  session.on('remoteSettings', ({ maxConcurrentStreams = Number.POSITIVE_INFINITY }) => {
    allows(maxConcurrentStreams);
    if (open.size <= maxConcurrentStreams) return;
    // A stream that was not written when the settings came is not written now. Node keeps it until others end, without a word.
    for (const [stream, unseen] of open) if (stream.state.state === constants.NGHTTP2_STREAM_STATE_IDLE) unseen();
  });
  const watchStanding = standingWatch(socket);
  const { request } = session;
  session.request = (headers, options) => {
    const stream = request.call(session, headers, options);
    cancelOnClose(stream);
    watchStanding(stream);
    const events = streamBegins();
    if (events) {
      const { unseen, lost } = events;
      open.set(stream, unseen);
      stream.on('close', () => open.delete(stream));
      // Before undici's own listeners: it takes every error in the middle of an answer for one of its length.
      stream.on('error', (error) => {
        if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) unseen();
        // Node says so where the length of an answer is not what its header says, and of what cannot be read.
        else if (stream.rstCode !== constants.NGHTTP2_PROTOCOL_ERROR) lost(error);
      });
      stream.on('frameError', (type) => type === headersFrame && unseen());
    }
    // An upgraded stream is the caller's own.
    if (Object(headers)[':method'] !== 'CONNECT') {
      checkEnd(stream);
      cancelOnAnswer(stream);
    }
    return stream;
  };
  return session;
}

/**
 * Destroys the socket where the connection is gone and Node does not notice. A write that fails before the end of the connection
 * has been read is never taken for ended if another follows it at once, and the session does not read while it writes: its streams
 * would stay open until the watchdog misses the pings (Node 24.21, plain `http2` too; nodejs/node#61304).
 */
function standingWatch(socket: Socket): (stream: ClientHttp2Stream) => void {
  let streams = 0;
  let delayMs = firstLookMs;
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(timer);
  const lookIn = (ms: number) => {
    stop();
    delayMs = ms;
    timer = setTimeout(look, ms);
  };
  const look = () => {
    if (hasPeer(socket)) lookIn(Math.min(2 * delayMs, longestLookMs));
    else socket.destroy(new LostConnection('the connection was reset by the server'));
  };
  socket.once('close', stop);
  return (stream) => {
    streams += 1;
    // The timer holds the process: such a socket no longer does.
    if (!socket.destroyed && (streams === 1 || delayMs > firstLookMs)) lookIn(firstLookMs);
    stream.once('close', () => {
      streams -= 1;
      if (streams === 0) stop();
    });
  };
}

/** Asks the system, for Node's `remoteAddress` is remembered. */
function hasPeer(socket: Socket): boolean {
  const handle: unknown = Reflect.get(socket, '_handle');
  const { getpeername } = Object(handle);
  return typeof getpeername !== 'function' || getpeername.call(handle, {}) === 0;
}

/**
 * Says CANCEL where undici gives a request up. It says NO_ERROR, and destroys the stream at once: with a body that is not sent yet,
 * longer than the server takes, Node then writes empty frames for ever, and the process stands still (Node 24.21, plain `http2` too).
 */
function cancelOnClose(stream: ClientHttp2Stream): void {
  const { close } = stream;
  stream.close = (code = constants.NGHTTP2_CANCEL, callback) => close.call(stream, code, callback);
}

/**
 * Closes a stream whose answer is complete while its body is not: a server that reads no more of it would never let it end, and
 * neither Node nor undici does. client-go closes it too.
 */
function cancelOnAnswer(stream: ClientHttp2Stream): void {
  stream.once('end', () => {
    // Not before undici has handled the end.
    queueMicrotask(() => {
      if (!stream.closed && !stream.destroyed && !stream.writableFinished) stream.close(constants.NGHTTP2_CANCEL);
    });
  });
}

/**
 * Makes an answer fail that the server ends with RST_STREAM alone. Node ends such a stream as it ends one with END_STREAM if the
 * code is CANCEL or NO_ERROR, and undici gives it to the caller as complete. The two differ in what comes first: the end of the
 * stream, or its closing. RST_STREAM after END_STREAM is well.
 */
function checkEnd(stream: ClientHttp2Stream): void {
  const { push } = stream;
  stream.push = (chunk, encoding) => {
    if (chunk !== null) return push.call(stream, chunk, encoding);
    // Whatever comes after the end says nothing any more.
    stream.push = push;
    if (!stream.closed) return push.call(stream, null);
    // Without an end undici misses the rest when the stream closes. Not now: Node is about to use the stream.
    queueMicrotask(() => stream.destroy(new CutAnswer('the server reset the stream before its answer was complete')));
    return false;
  };
}

/** Node leaves the session on its socket, and so does undici, each under a symbol of its own. */
function sessionOf(socket: Socket): ClientHttp2Session | undefined {
  for (const key of Object.getOwnPropertySymbols(socket)) {
    const value: unknown = Reflect.get(socket, key);
    if (isSession(value)) return value;
  }
  return undefined;
}

function isSession(value: unknown): value is ClientHttp2Session {
  const { request, goaway } = Object(value);
  return typeof request === 'function' && typeof goaway === 'function';
}
