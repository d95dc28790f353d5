import type { Socket } from 'node:net';
import type { PoolOptions } from './pooled-request.ts';

/** The peer of a connection no longer answers pings. */
export class SilentPeer extends Error {
  readonly code = 'ERR_SILENT_PEER';
}

/** How often a socket is checked before it is given up. */
const checks = 3;

/**
 * Pings a peer that has been silent for `pingIntervalMs`, and destroys the socket of one that has been silent for `silenceMs`:
 * requests on such a connection would hang for ever. `ping` gives false where none can be sent: silence then says nothing, and the
 * system's own keep-alive has to do.
 */
export function watchForSilence(
  socket: Socket,
  { pingIntervalMs, silenceMs }: Pick<PoolOptions, 'pingIntervalMs' | 'silenceMs'>,
  ping: () => boolean,
): void {
  const checkMs = silenceMs / checks;
  let before = socket.bytesRead;
  let silent = 0;
  const check = () => {
    if (socket.bytesRead !== before) {
      before = socket.bytesRead;
      silent = 0;
      return;
    }
    silent += 1;
    if (silent < checks) {
      if (silent * checkMs >= pingIntervalMs && !ping()) silent = 0;
      return;
    }
    // After a blocked event loop the timers come first: give the answers that already lie there a chance to be read.
    setImmediate(() => {
      if (socket.bytesRead === before)
        socket.destroy(new SilentPeer(`the server has been silent for ${silenceMs / 1000} s`));
    });
  };
  const timer = setInterval(check, checkMs).unref();
  socket.once('close', () => clearInterval(timer));
}
