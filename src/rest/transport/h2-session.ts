/** What undici does not expose of a socket's HTTP/2 session: its streams, what is left of them, and whether the peer is silent. */
import { subscribe } from 'node:diagnostics_channel';
import { type ClientHttp2Stream, constants, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { UnsentError } from './wire-request.ts';

/** RFC 9113, section 6.2. */
const headersFrame = 1;

/** Callbacks for the events of the HTTP/2 session on a socket. */
interface SessionEvents {
  /** The server has said how many streams it allows at once. */
  readonly allows: (streams: number) => void;
  /** Node counts bytes as queued that it never sends, and refuses every response once they are 10 MB (`maxSessionMemory`). */
  readonly leaks: () => void;
  /** A stream begins. Returns what ends its request. */
  readonly streamBegins: () => Dispatcher.DispatchController | undefined;
}

type OnStream = (stream: ClientHttp2Stream) => void;

/** The property of a socket of ours that is called with each HTTP/2 stream on it. */
const onStream = Symbol('onStream');

// undici does not hand out its session, but Node publishes every stream, and a session shows its socket.
subscribe('http2.client.stream.created', (message) => {
  const { stream } = message as { stream: ClientHttp2Stream }; // as Node documents it
  const socket: (Socket & { [onStream]?: OnStream }) | undefined = stream.session?.socket;
  socket?.[onStream]?.(stream);
});

/** Watches the HTTP/2 session that undici opens on a socket, and returns what gives it: it is known from its first stream on. */
export function watchSession(
  socket: Socket,
  { allows, leaks, streamBegins }: SessionEvents,
): () => ClientHttp2Stream['session'] {
  let session: ClientHttp2Stream['session'];
  // Not in `begins`: the session would hold its first stream, and with it all that waited for its answer.
  const settle = ({ maxConcurrentStreams = Number.POSITIVE_INFINITY }: Settings) => allows(maxConcurrentStreams);
  const begins: OnStream = (stream) => {
    if (!session) {
      session = stream.session;
      session?.on('remoteSettings', settle);
    }
    cancelOnClose(stream);
    stream.on('close', () => {
      // A body that was given up, or what its bytes lead to.
      if (!stream.writableFinished || stream.rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM) leaks();
    });
    const wire = streamBegins();
    if (wire) failBeforeUndici(stream, wire);
    failWhenCut(stream);
    cancelAfterResponse(stream);
  };
  Object.assign(socket, { [onStream]: begins });
  return () => session;
}

/**
 * Ends a request with its stream, before undici's own listeners do. If the server has not processed it (it refused the stream, or its
 * GOAWAY came before that was written), undici would send it again by itself: on this connection, for as long as that takes no more,
 * or after its client was destroyed, which ends the process.
 */
function failBeforeUndici(stream: ClientHttp2Stream, wire: Dispatcher.DispatchController): void {
  const unprocessed = () => wire.abort(new UnsentError('the server has not taken the request'));
  stream.on('error', (error) => {
    if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) unprocessed();
    // Node says so if the length of a response is not what its header says, and of what cannot be read. undici takes every other error
    // in the middle of a response for one of its length, too.
    else if (stream.rstCode !== constants.NGHTTP2_PROTOCOL_ERROR) wire.abort(error);
  });
  stream.on('frameError', (type) => type === headersFrame && unprocessed());
}

/**
 * Says CANCEL if undici gives a request up. It says NO_ERROR, and destroys the stream at once: with a body that is not sent yet,
 * longer than the server takes, Node then writes empty frames for ever, and blocks the process (Node 24.21, plain `http2` too).
 */
function cancelOnClose(stream: ClientHttp2Stream): void {
  const { close } = stream;
  stream.close = (code = constants.NGHTTP2_CANCEL, callback) => close.call(stream, code, callback);
}

/**
 * Closes a stream whose response is complete while its body is not: a server that reads no more of it would never let it end, and
 * neither Node nor undici does. client-go closes it too.
 */
function cancelAfterResponse(stream: ClientHttp2Stream): void {
  stream.once('end', () => {
    // Not before undici has handled the end.
    queueMicrotask(() => {
      if (!stream.closed && !stream.destroyed && !stream.writableFinished) stream.close(constants.NGHTTP2_CANCEL);
    });
  });
}

/**
 * Makes a response fail that the server ends with RST_STREAM alone. Node ends such a stream as it ends one with END_STREAM if the
 * code is CANCEL or NO_ERROR, and undici gives it to the caller as complete. The two differ in what comes first: the end of the
 * stream, or its closing. RST_STREAM after END_STREAM is fine.
 */
function failWhenCut(stream: ClientHttp2Stream): void {
  const { push } = stream;
  stream.push = (chunk, encoding) => {
    if (chunk !== null) return push.call(stream, chunk, encoding);
    // Whatever comes after the end says nothing any more.
    stream.push = push;
    if (!stream.closed) return push.call(stream, null);
    // Without an end undici misses the rest when the stream closes. Not now: Node is about to use the stream.
    queueMicrotask(() => stream.destroy(new Error('the server reset the stream before its answer was complete')));
    return false;
  };
}

/**
 * Looks every `intervalMs` whether a byte has come. A silent peer is pinged, and its socket destroyed at the next look, since requests on
 * it would hang for ever. Any byte counts: on a slow link the answer to a ping comes behind data. `ping` gives false if none can be
 * sent: silence then says nothing, and the system's own keep-alive has to do.
 */
export function watchForSilence(socket: Socket, intervalMs: number, ping: () => boolean): void {
  let before = -1;
  let pinged = false;
  const look = () => {
    if (socket.bytesRead !== before) {
      before = socket.bytesRead;
      pinged = false;
    } else if (!pinged) {
      pinged = ping();
    } else {
      // After a blocked event loop the timers come first: give the answers that already lie there a chance to be read.
      setImmediate(() => {
        if (socket.bytesRead === before) socket.destroy(new Error('the server does not answer pings'));
      });
    }
  };
  const timer = setInterval(look, intervalMs).unref();
  socket.once('close', () => clearInterval(timer));
}
