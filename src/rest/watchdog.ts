import type { Socket } from 'node:net';

/** Milliseconds between HTTP/2 pings, and between looks at what has come back. A dead peer is noticed after two looks. */
export const pingIntervalMs = 10_000;
const lookIntervalMs = 15_000;

/**
 * Destroys a socket whose peer has fallen silent, although it is pinged: undici sends pings but does not miss the answers,
 * and requests on such a connection would hang for ever.
 */
export function watchForSilence(socket: Socket, intervalMs = lookIntervalMs): void {
  let before = socket.bytesRead;
  const look = () => {
    if (socket.bytesRead !== before) {
      before = socket.bytesRead;
      return;
    }
    // After a blocked event loop the timers come first: give the answers that already lie there a chance to be read.
    setImmediate(() => {
      if (socket.bytesRead === before) socket.destroy();
    });
  };
  const timer = setInterval(look, intervalMs).unref();
  socket.once('close', () => clearInterval(timer));
}
