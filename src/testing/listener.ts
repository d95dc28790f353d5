/** A server on loopback, over HTTP/2, HTTP/1.1 or plain HTTP, whose connections can be counted and broken. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer as createTlsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Request, Response } from './api/http.ts';
import type { CertificateAuthority } from './certificates.ts';
import type { FakeClusterOptions } from './fake-cluster-options.ts';

type Answer = (request: Request, response: Response) => void;

export class Listener {
  readonly #options: FakeClusterOptions;
  readonly #authority: CertificateAuthority;
  readonly #answer: Answer;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #server: Http2SecureServer | HttpsServer | Server | undefined;
  /** TCP connections accepted so far. */
  connections = 0;
  /** Chosen at the first listen, and kept. */
  port = 0;

  constructor(options: FakeClusterOptions, authority: CertificateAuthority, answer: Answer) {
    this.#options = options;
    this.#authority = authority;
    this.#answer = answer;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<void> {
    const server = this.#createServer().listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.port = (server.address() as AddressInfo).port; // a TCP server that listens has one
  }

  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Asks every HTTP/2 client to use another connection, and closes these when their requests have ended. */
  goAway(): void {
    for (const session of this.#sessions) session.close();
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.closeConnections();
    await closed;
  }

  #createServer(): Http2SecureServer | HttpsServer | Server {
    const { insecureHttp, http2 = true, serverNames = [] } = this.#options;
    const { certificate: cert, key } = this.#authority.issue({
      commonName: 'fake-cluster',
      dnsNames: ['localhost', ...serverNames],
      ipAddresses: ['127.0.0.1', '::1'],
    });
    const tls = { cert, key, ca: this.#authority.certificate, requestCert: true, rejectUnauthorized: false };
    const server = insecureHttp
      ? createServer(this.#answer)
      : http2
        ? createSecureServer({ ...tls, allowHTTP1: true }, this.#answer)
        : createTlsServer(tls, this.#answer);
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      // A client that disconnects is not an error of the server.
      socket.on('error', () => {});
    });
    return server;
  }
}
