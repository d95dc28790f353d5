import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { RequestError } from '../../errors/index.ts';
import type { Connector } from './connector.ts';

/** What a socket belongs to that is in no pool. */
export interface SocketOwner {
  hold(): void;
  letGo(): void;
  /** Aborted when the owner ends, and with it its sockets. */
  readonly ended: AbortSignal;
}

/** A connector for WebSockets: while one is opened, and as long as it is open, it holds its owner, and it ends with it. */
export function heldBy(owner: SocketOwner, connect: Connector): Connector {
  return (options, callback) => {
    owner.hold();
    connect(options, (...result) => {
      const [, socket] = result;
      if (socket) keepUntilClosed(owner, socket);
      else owner.letGo();
      callback(...result);
    });
  };
}

/** Ends a socket with its owner, who holds it already, and lets go of it when it closes. */
export function keepUntilClosed(owner: SocketOwner, socket: Duplex): void {
  // What an upgrade has left may have no listener.
  socket.on('error', () => undefined);
  const end = () => socket.destroy(new RequestError('CONFIG_CLOSED', 'the config of this WebSocket has been closed'));
  owner.ended.addEventListener('abort', end, { once: true });
  socket.once('close', () => {
    owner.ended.removeEventListener('abort', end);
    owner.letGo();
  });
}

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
