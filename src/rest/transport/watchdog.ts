import type { Socket } from 'node:net';

/** The peer of a connection no longer answers pings. */
export class SilentPeer extends Error {
  readonly code = 'ERR_SILENT_PEER';
}

/** How often a socket is looked at before it is given up. */
const looks = 3;

/**
 * Destroys a socket whose peer has been silent for `silenceMs` milliseconds, although it is pinged: undici sends pings but does
 * not miss the answers, and requests on such a connection would hang for ever.
 */
export function watchForSilence(socket: Socket, silenceMs: number): void {
  let before = socket.bytesRead;
  let silent = 0;
  const look = () => {
    if (socket.bytesRead !== before) {
      before = socket.bytesRead;
      silent = 0;
      return;
    }
    silent += 1;
    if (silent < looks) return;
    // After a blocked event loop the timers come first: give the answers that already lie there a chance to be read.
    setImmediate(() => {
      if (socket.bytesRead === before)
        socket.destroy(new SilentPeer(`the server has been silent for ${silenceMs / 1000} s`));
    });
  };
  const timer = setInterval(look, silenceMs / looks).unref();
  socket.once('close', () => clearInterval(timer));
}
