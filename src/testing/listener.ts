/** A server on loopback, over HTTP/2, HTTP/1.1 or plain HTTP, whose connections can be counted and broken. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Request, Response } from './api/http.ts';
import type { CertificateAuthority } from './certificates.ts';
import type { FakeClusterOptions } from './fake-cluster-options.ts';

type Answer = (request: Request, response: Response) => void;

export class Listener {
  readonly #options: FakeClusterOptions;
  readonly #authority: CertificateAuthority;
  readonly #answer: Answer;
  #server: Server | undefined;
  readonly sockets = new Set<Socket>();
  /** Of the connections that use HTTP/2. */
  readonly sessions = new Set<ServerHttp2Session>();
  /** TCP connections accepted so far. */
  connections = 0;
  /** Chosen at the first listen, and kept. */
  port = 0;

  constructor(options: FakeClusterOptions, authority: CertificateAuthority, answer: Answer) {
    this.#options = options;
    this.#authority = authority;
    this.#answer = answer;
  }

  async listen(): Promise<void> {
    const server = this.#createServer().listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.port = (server.address() as AddressInfo).port; // a TCP server that listens has one
  }

  closeConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.closeConnections();
    await closed;
  }

  #createServer(): Server {
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
      this.sessions.add(session);
      session.on('close', () => this.sessions.delete(session));
    });
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      // A client that disconnects is not an error of the server.
      socket.on('error', () => {});
    });
    return server;
  }
}
