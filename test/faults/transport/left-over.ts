// What the client's side holds open in this process: sockets and HTTP/2 streams, as Node tells of them.
import diagnostics from 'node:diagnostics_channel';
import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

export class LeftOver {
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Map<ClientHttp2Stream, string>();
  readonly #onSocket = (message: unknown) => void this.#sockets.add((message as { socket: Socket }).socket); // by the channel
  readonly #onStream = (message: unknown) => {
    const { stream, headers } = message as { stream: ClientHttp2Stream; headers: Record<string, unknown> }; // by the channel
    this.#streams.set(stream, String(headers[':path']));
  };

  constructor() {
    diagnostics.subscribe('net.client.socket', this.#onSocket);
    diagnostics.subscribe('http2.client.stream.created', this.#onStream);
  }

  /** Connections to these ports that are not closed. */
  sockets(ports: ReadonlySet<number>): readonly string[] {
    const mine = [...this.#sockets].filter((socket) => !socket.destroyed && ports.has(socket.remotePort ?? 0));
    return mine.map(({ localPort }) => `socket from port ${localPort}`);
  }

  /** Streams that are open on connections that are, by their paths. */
  streams(): readonly string[] {
    return [...this.#streams].filter(([stream]) => !stream.destroyed).map(([, path]) => path);
  }

  stop(): void {
    diagnostics.unsubscribe('net.client.socket', this.#onSocket);
    diagnostics.unsubscribe('http2.client.stream.created', this.#onStream);
  }
}
