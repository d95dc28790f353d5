import type { Socket } from 'node:net';

/** Milliseconds that a socket waits for the client that it was opened for. */
const waitMs = 10_000;

/** A socket that was opened ahead: it is closed unless it is taken. */
export class WaitingSocket {
  readonly #socket: Socket;
  readonly #timer: NodeJS.Timeout;
  readonly #ignore = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket.on('error', this.#ignore);
    this.#timer = setTimeout(() => socket.destroy(), waitMs).unref();
  }

  /** `undefined` where it has been closed meanwhile. */
  take(): Socket | undefined {
    clearTimeout(this.#timer);
    if (this.#socket.destroyed || this.#socket.readableEnded) return undefined;
    return this.#socket.off('error', this.#ignore);
  }
}
