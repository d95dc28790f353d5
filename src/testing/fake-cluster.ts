/**
 * An in-process API server for tests: real TLS and HTTP on loopback come in, enough of the Kubernetes API goes out.
 * It must not know anything of the rest of this package: it plays the other side.
 */

import { createServer, type Server } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer as createTlsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type CertificateAuthority, createCertificateAuthority } from './certificates.ts';
import { KubernetesApi, type Request, type Response, sendStatus } from './kubernetes-api.ts';

export interface FakeClusterOptions {
  /** Shown in /version. Default: `fake`. */
  readonly name?: string;
  /** Accepted bearer tokens, each with the user name it stands for. Default: none. */
  readonly tokens?: Readonly<Record<string, string>>;
  /** The API is served below this path only, as behind a gateway: `/v1/projects/1`. Default: none. */
  readonly pathPrefix?: string;
  /** Offer HTTP/2. Default: true. */
  readonly http2?: boolean;
  /** Names in the server's certificate beside `localhost`, `127.0.0.1` and `::1`. */
  readonly serverNames?: readonly string[];
  /** Serve plain HTTP. Default: false. */
  readonly insecureHttp?: boolean;
  /** Default: `default`, `kube-system`. */
  readonly namespaces?: readonly string[];
}

/** What a cluster has seen. */
export interface FakeClusterStats {
  /** TCP connections accepted so far. */
  readonly connections: number;
  readonly openConnections: number;
  readonly requests: number;
  /** Requests answered with 401 because of their credential. */
  readonly unauthorized: number;
  /** Authenticated requests by user name. */
  readonly byIdentity: ReadonlyMap<string, number>;
}

/** A request, as the server got it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whose it was; `undefined` where the credential was refused. */
  readonly identity: string | undefined;
}

/** How a request is answered instead of the usual way: a status, no answer at all, a broken connection, a redirect. */
export type Behaviour = number | 'hang' | 'reset' | { readonly redirect: string };

/**
 * An in-process HTTPS API server on loopback that checks bearer tokens and client certificates.
 *
 * @example
 * const cluster = await FakeCluster.start({ tokens: { 'token-1': 'system:serviceaccount:default:me' } });
 * // cluster.url, cluster.certificateAuthorityData
 * await cluster.close();
 */
export class FakeCluster {
  /** Signs the server's certificate, and the client certificates that the server accepts. */
  readonly certificateAuthority: CertificateAuthority = createCertificateAuthority();
  readonly #options: FakeClusterOptions;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #api: KubernetesApi;
  readonly #behaviours: Behaviour[] = [];
  #server: Http2SecureServer | HttpsServer | Server;
  #tokens: ReadonlyMap<string, string>;
  #port = 0;
  #connections = 0;
  #requests = 0;
  #unauthorized = 0;
  #byIdentity = new Map<string, number>();
  /** Called with each request once it has been authenticated, so that a test can wait for it. */
  onRequest: (request: SeenRequest) => void = () => {};

  private constructor(options: FakeClusterOptions) {
    this.#options = options;
    this.#tokens = new Map(Object.entries(options.tokens ?? {}));
    this.#api = new KubernetesApi(options.name ?? 'fake', options.namespaces ?? ['default', 'kube-system']);
    this.#server = this.#createServer();
  }

  /** Starts a cluster on a free port of 127.0.0.1. */
  static async start(options: FakeClusterOptions = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(options);
    await cluster.#listen();
    return cluster;
  }

  /** Scheme, host, port and path prefix. */
  get url(): string {
    return `${this.#options.insecureHttp ? 'http' : 'https'}://127.0.0.1:${this.#port}${this.#options.pathPrefix ?? ''}`;
  }

  /** The authority's certificate as a ClusterProfile has it: base64 of PEM. */
  get certificateAuthorityData(): string {
    return Buffer.from(this.certificateAuthority.certificate).toString('base64');
  }

  get stats(): FakeClusterStats {
    return {
      connections: this.#connections,
      openConnections: this.#sockets.size,
      requests: this.#requests,
      unauthorized: this.#unauthorized,
      byIdentity: new Map(this.#byIdentity),
    };
  }

  /** Forgets what has been counted; open connections stay open. */
  resetStats(): void {
    this.#connections = 0;
    this.#requests = 0;
    this.#unauthorized = 0;
    this.#byIdentity = new Map();
  }

  /** From now on these tokens are accepted, and no others. */
  setTokens(tokens: Readonly<Record<string, string>>): void {
    this.#tokens = new Map(Object.entries(tokens));
  }

  /** Answers the next `count` requests in another way. */
  failNext(behaviour: Behaviour, count = 1): void {
    for (let i = 0; i < count; i++) this.#behaviours.push(behaviour);
  }

  /** Changes a namespace behind the clients' back: watches see it. */
  emit(type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, labels: Readonly<Record<string, string>> = {}): void {
    this.#api.change(type, name, labels);
  }

  /** Breaks every connection; the server goes on. */
  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Asks every HTTP/2 client to use another connection (GOAWAY), and closes these when their requests have ended. */
  goAway(): void {
    for (const session of this.#sessions) session.close();
  }

  /** Stops and starts again on the same port, with the same certificate authority. */
  async restart(): Promise<void> {
    await this.close();
    this.#server = this.#createServer();
    await this.#listen();
  }

  /** Ends the server and every connection. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.closeConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #createServer(): Http2SecureServer | HttpsServer | Server {
    const { insecureHttp, http2 = true, serverNames = [] } = this.#options;
    const answer = (request: Request, response: Response) => this.#answer(request, response);
    const { certificate: cert, key } = this.certificateAuthority.issue({
      commonName: 'fake-cluster',
      dnsNames: ['localhost', ...serverNames],
      ipAddresses: ['127.0.0.1', '::1'],
    });
    const tls = { cert, key, ca: this.certificateAuthority.certificate, requestCert: true, rejectUnauthorized: false };
    const server = insecureHttp
      ? createServer(answer)
      : http2
        ? createSecureServer({ ...tls, allowHTTP1: true }, answer)
        : createTlsServer(tls, answer);
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
    server.on('connection', (socket: Socket) => {
      this.#connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      // A client that breaks off is no concern of the server's.
      socket.on('error', () => {});
    });
    return server;
  }

  async #listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', () => resolve());
    });
    const address = this.#server.address() as AddressInfo; // a TCP server that listens has one
    this.#port = address.port;
  }

  #answer(request: Request, response: Response): void {
    this.#requests += 1;
    response.on('error', () => {});
    const identity = this.#authenticate(request);
    const { method = 'GET', url = '/', headers } = request;
    if (identity === undefined) this.#unauthorized += 1;
    else this.#byIdentity.set(identity, (this.#byIdentity.get(identity) ?? 0) + 1);
    this.onRequest({ method, url, headers: { ...headers }, identity });
    const behaviour = this.#behaviours.shift();
    if (behaviour !== undefined) {
      this.#misbehave(behaviour, request, response);
      return;
    }
    if (identity === undefined) {
      sendStatus(response, 401, 'Unauthorized', 'Unauthorized');
      return;
    }
    const prefix = this.#options.pathPrefix ?? '';
    if (!url.startsWith(`${prefix}/`)) sendStatus(response, 404, 'NotFound', `${url} is outside of ${prefix}`);
    else this.#api.answer(request, response, url.slice(prefix.length), identity);
  }

  /** A certificate is believed before a token, as an API server does it. */
  #authenticate(request: Request): string | undefined {
    const socket = request.socket as TLSSocket; // plain sockets have no `authorized`
    if (socket.authorized) {
      const { CN } = socket.getPeerCertificate().subject ?? {};
      if (CN !== undefined) return [CN].flat()[0];
    }
    const match = /^Bearer (.+)$/.exec(request.headers.authorization ?? '');
    return match?.[1] === undefined ? undefined : this.#tokens.get(match[1]);
  }

  #misbehave(behaviour: Behaviour, request: Request, response: Response): void {
    if (behaviour === 'hang') return;
    if (behaviour === 'reset') {
      if ('stream' in request) request.stream.close(2);
      else request.socket.destroy();
    } else if (typeof behaviour === 'number') {
      sendStatus(response, behaviour, 'Injected', `this request was told to fail with ${behaviour}`);
    } else {
      response.setHeader('location', behaviour.redirect);
      response.statusCode = 307;
      response.end();
    }
  }
}
