/**
 * An in-process API server for tests: the Kubernetes API over real TLS and HTTP on loopback. It must not use the rest of this package,
 * which is the client.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { FakeApiServer } from './api/api-server.ts';
import { multiclusterDefinitions } from './api/custom-types.ts';
import { type Request, type Response, sendError } from './api/http.ts';
import { ApiError } from './api/status.ts';
import type { User } from './api/tokens.ts';
import { type CertificateAuthority, createCertificateAuthority } from './certificates.ts';
import {
  type Behaviour,
  type FakeClusterOptions,
  type FakeClusterStats,
  misbehave,
  type NextRequests,
  type RequestFilter,
  type SeenRequest,
  type Tokens,
  usersOf,
} from './fake-cluster-options.ts';
import { type ObjectName, Objects, type ObjectsOfKind, type StoredTestObject, type TestObject } from './objects.ts';

/**
 * An in-process HTTPS API server on loopback. It checks bearer tokens and client certificates, and then allows everything.
 *
 * @example
 * const cluster = await FakeCluster.start({ tokens: { 'token-1': 'system:serviceaccount:default:me' } });
 * // cluster.url, cluster.certificateAuthorityData
 * cluster.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'settings' }, data: { a: '1' } });
 * await cluster.close();
 */
export class FakeCluster {
  /** Signs the server's certificate, and the client certificates that the server accepts. */
  readonly certificateAuthority: CertificateAuthority = createCertificateAuthority();
  /**
   * Called with each request once it has been authenticated, so that a test can wait for it. If it throws, the request is answered
   * with a 500 and the message. The request does not wait for a promise.
   */
  onRequest: (request: SeenRequest) => void = () => {};
  readonly #options: FakeClusterOptions;
  readonly #api: FakeApiServer;
  readonly #objects: Objects;
  #server: Server | undefined;
  /** Chosen at the first listen, and kept. */
  #port = 0;
  readonly #sockets = new Set<Socket>();
  readonly #http2Sessions = new Set<ServerHttp2Session>();
  #connections = 0;
  #behaviours: readonly NextRequests[] = [];
  #bookmarks: NodeJS.Timeout | undefined;
  #tokens: ReadonlyMap<string, User>;
  #unauthorized = 0;
  readonly #byIdentity = new Map<string, number>();

  private constructor(options: FakeClusterOptions) {
    const { name = 'fake', history = 32_768, clock = Date.now, customResourceDefinitions = [] } = options;
    this.#options = options;
    this.#tokens = usersOf(options.tokens ?? {});
    this.#api = new FakeApiServer({ name, history, clock });
    this.#objects = new Objects(this.#api.state);
    for (const namespace of ['default', 'kube-system']) this.#objects.addNamespace(namespace);
    for (const definition of [...multiclusterDefinitions, ...customResourceDefinitions]) this.#objects.set(definition);
  }

  /** Starts a cluster on a free port of 127.0.0.1. */
  static async start(options: FakeClusterOptions = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(options);
    await cluster.#listen();
    return cluster;
  }

  /** Scheme, host, port and path prefix. */
  get url(): string {
    const { insecureHttp, pathPrefix = '' } = this.#options;
    return `${insecureHttp ? 'http' : 'https'}://127.0.0.1:${this.#port}${pathPrefix}`;
  }

  /** The authority's certificate in the form of a ClusterProfile: base64 of PEM. */
  get certificateAuthorityData(): string {
    return Buffer.from(this.certificateAuthority.certificate).toString('base64');
  }

  /**
   * A kubeconfig, as JSON, whose user has this token.
   *
   * @param token - by default the first one that the cluster accepts
   * @example
   * const hub = RestConfig.fromKubeConfig({ text: cluster.kubeconfig() });
   */
  kubeconfig(token: string | undefined = this.#tokens.keys().next().value): string {
    const name = this.#options.name ?? 'fake';
    const cluster = { server: this.url, 'certificate-authority-data': this.certificateAuthorityData };
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster }],
      users: [{ name, user: token === undefined ? {} : { token } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    });
  }

  get stats(): FakeClusterStats {
    return {
      connections: this.#connections,
      openConnections: this.#sockets.size,
      requests: [...this.#byIdentity.values()].reduce((sum, count) => sum + count, this.#unauthorized),
      unauthorized: this.#unauthorized,
      byIdentity: new Map(this.#byIdentity),
    };
  }

  /** Replaces the accepted tokens. Tokens that the cluster has minted itself stay valid. */
  setTokens(tokens: Tokens): void {
    this.#tokens = usersOf(tokens);
  }

  /** Makes the next `count` requests fail; with a filter, the next ones that match. */
  failNext(behaviour: Behaviour, count = 1, matches: RequestFilter = () => true): void {
    this.#behaviours = [...this.#behaviours, { behaviour, matches, left: count }];
  }

  /**
   * Stores objects as they are, status included, without a request. Watches see them. Creates missing namespaces.
   * @throws {Error} if a kind is unknown, or an object exists already
   */
  add(objects: TestObject | Iterable<TestObject>): void {
    this.#objects.add(objects);
  }

  /** Replaces the object of the same name, or adds it if there is none. */
  set(object: TestObject): void {
    this.#objects.set(object);
  }

  /**
   * Deletes an object at once, whatever its finalizers.
   * @throws {Error} if there is none
   */
  delete(name: ObjectName): void {
    this.#objects.delete(name);
  }

  /** Returns the current object of this kind and name, or `undefined`. */
  get(name: ObjectName): StoredTestObject | undefined {
    return this.#objects.get(name);
  }

  /** Returns all objects of a kind, or those of a namespace, in the order of a list request. */
  list(kind: ObjectsOfKind): readonly StoredTestObject[] {
    return this.#objects.list(kind);
  }

  /**
   * Forgets old versions, as etcd does every five minutes: a watch or list at an older version gets a 410. Open watches continue.
   */
  compact(): void {
    this.#api.state.compact();
  }

  /** Sends a bookmark to every watch that asked for bookmarks. They also get one every minute. */
  sendBookmarks(): void {
    for (const watch of this.#api.state.watches) watch.bookmark();
  }

  /** Ends every watch, as a server does at a watch's timeout. */
  endWatches(): void {
    for (const watch of this.#api.state.watches) watch.end();
  }

  /** Breaks every connection. The server keeps running. */
  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Asks every HTTP/2 client to use another connection (GOAWAY), and closes these when their requests have ended. */
  goAway(): void {
    for (const session of this.#http2Sessions) session.close();
  }

  /** Restarts on the same port, with the same certificate authority and objects. */
  async restart(): Promise<void> {
    await this.close();
    await this.#listen();
  }

  /** Stops the server and closes every connection. */
  async close(): Promise<void> {
    clearInterval(this.#bookmarks);
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.closeConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #listen(): Promise<void> {
    const server = this.#createServer().listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port; // a TCP server that listens has one
    this.#bookmarks = setInterval(() => this.sendBookmarks(), bookmarkEveryMs).unref();
  }

  #createServer(): Server {
    const { insecureHttp, http2 = true, serverNames = [] } = this.#options;
    const { certificate: cert, key } = this.certificateAuthority.issue({
      commonName: 'fake-cluster',
      dnsNames: ['localhost', ...serverNames],
      ipAddresses: ['127.0.0.1', '::1'],
    });
    const tls = { cert, key, ca: this.certificateAuthority.certificate, requestCert: true, rejectUnauthorized: false };
    const answer = (request: Request, response: Response) => this.#answer(request, response);
    const server = insecureHttp
      ? createServer(answer)
      : http2
        ? createSecureServer({ ...tls, allowHTTP1: true }, answer)
        : createTlsServer(tls, answer);
    server.on('session', (session: ServerHttp2Session) => {
      this.#http2Sessions.add(session);
      session.on('close', () => this.#http2Sessions.delete(session));
    });
    server.on('connection', (socket: Socket) => {
      this.#connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      // A client that disconnects is not an error of the server.
      socket.on('error', () => {});
    });
    return server;
  }

  #answer(request: Request, response: Response): void {
    response.on('error', () => {});
    const user = this.#api.tokens.authenticate(request, this.#tokens);
    const { method = 'GET', url = '/', headers } = request;
    if (user === undefined) this.#unauthorized += 1;
    else this.#byIdentity.set(user.username, (this.#byIdentity.get(user.username) ?? 0) + 1);
    const seen = { method, url, headers: { ...headers }, identity: user?.username };
    try {
      this.onRequest(seen);
      const behaviour = this.#nextBehaviour(seen);
      if (behaviour !== undefined) return misbehave(behaviour, request, response);
    } catch (error) {
      const message = `onRequest, or a filter of failNext, threw: ${error instanceof Error ? error.message : String(error)}`;
      return sendError(response, new ApiError(500, message));
    }
    if (user === undefined) return sendError(response, new ApiError(401, 'Unauthorized'));
    const prefix = this.#options.pathPrefix ?? '';
    if (url.startsWith(`${prefix}/`)) void this.#api.answer(request, response, url.slice(prefix.length), user);
    else sendError(response, new ApiError(404, `${url} is outside of ${prefix}`));
  }

  #nextBehaviour(request: SeenRequest): Behaviour | undefined {
    const next = this.#behaviours.find(({ matches }) => matches(request));
    if (!next) return undefined;
    next.left -= 1;
    if (next.left === 0) this.#behaviours = this.#behaviours.filter((other) => other !== next);
    return next.behaviour;
  }
}

const bookmarkEveryMs = 60_000;
