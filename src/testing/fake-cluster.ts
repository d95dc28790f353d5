/**
 * An in-process API server for tests: real TLS and HTTP on loopback come in, the Kubernetes API goes out.
 * It must not know anything of the rest of this package: it is the server that tests talk to.
 */

import type { TLSSocket } from 'node:tls';
import { ApiServer } from './api/api-server.ts';
import { type Request, type Response, sendError } from './api/http.ts';
import { ApiError } from './api/status.ts';
import { type User, withGroups } from './api/users.ts';
import { type Behaviour, Behaviours, callNow, checkFunction, misbehave, type RequestFilter } from './behaviours.ts';
import { type CertificateAuthority, createCertificateAuthority } from './certificates.ts';
import {
  checkOptions,
  type FakeClusterOptions,
  type FakeClusterStats,
  type SeenRequest,
  type Tokens,
  usersOf,
} from './fake-cluster-options.ts';
import { Listener } from './listener.ts';
import { type ObjectName, Objects, type ObjectsOfKind, type StoredTestObject, type TestObject } from './objects.ts';

/**
 * An in-process HTTPS API server on loopback that checks bearer tokens and client certificates, and then lets everybody do
 * everything.
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
  readonly #options: FakeClusterOptions;
  readonly #listener: Listener;
  readonly #api: ApiServer;
  readonly #objects: Objects;
  readonly #behaviours = new Behaviours<SeenRequest>();
  #bookmarks: NodeJS.Timeout | undefined;
  #tokens: ReadonlyMap<string, User>;
  #requests = 0;
  #unauthorized = 0;
  #byIdentity = new Map<string, number>();
  #onRequest: (request: SeenRequest) => void = () => {};

  private constructor(options: FakeClusterOptions) {
    checkOptions(options);
    const { name = 'fake', history = 32_768, clock = Date.now, http2 = true, serverNames = [] } = options;
    this.#options = options;
    this.#tokens = usersOf(options.tokens ?? {});
    this.#api = new ApiServer({ name, history, clock, userOf: (token) => this.#tokens.get(token) });
    this.#objects = new Objects(this.#api.state);
    for (const namespace of options.namespaces ?? ['default', 'kube-system']) this.#objects.addNamespace(namespace, {});
    for (const definition of options.customResourceDefinitions ?? []) this.#objects.set(definition);
    this.#listener = new Listener({
      http2,
      serverNames,
      insecureHttp: options.insecureHttp ?? false,
      certificateAuthority: this.certificateAuthority,
      answer: (request, response) => this.#answer(request, response),
    });
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
    return `${insecureHttp ? 'http' : 'https'}://127.0.0.1:${this.#listener.port}${pathPrefix}`;
  }

  /** The authority's certificate as a ClusterProfile has it: base64 of PEM. */
  get certificateAuthorityData(): string {
    return Buffer.from(this.certificateAuthority.certificate).toString('base64');
  }

  get stats(): FakeClusterStats {
    return {
      connections: this.#listener.connections,
      openConnections: this.#listener.openConnections,
      requests: this.#requests,
      unauthorized: this.#unauthorized,
      byIdentity: new Map(this.#byIdentity),
    };
  }

  /** Forgets what has been counted; open connections stay open. */
  resetStats(): void {
    this.#listener.connections = 0;
    this.#requests = 0;
    this.#unauthorized = 0;
    this.#byIdentity = new Map();
  }

  /** From now on these tokens are accepted, and no others but those that the cluster has minted itself. */
  setTokens(tokens: Tokens): void {
    this.#tokens = usersOf(tokens);
  }

  /**
   * Called with each request once it has been authenticated, so that a test can wait for it. What it throws is the request's
   * answer: a 500 with the message. It must not be `async`: the request waits for no promise.
   */
  get onRequest(): (request: SeenRequest) => void {
    return this.#onRequest;
  }

  set onRequest(listener: (request: SeenRequest) => void) {
    checkFunction('onRequest', listener);
    this.#onRequest = listener;
  }

  /**
   * Answers the next `count` requests in another way; with a filter, the next of those that it takes. Throws a `TypeError` or
   * `RangeError` for what is no behaviour or no count.
   */
  failNext(behaviour: Behaviour, count = 1, matches?: RequestFilter<SeenRequest>): void {
    this.#behaviours.add(behaviour, count, matches);
  }

  /**
   * Stores objects as they are, status included, behind the clients' back: watches see it. Namespaces that are not there are
   * made. Throws where a kind is unknown, or an object is there already.
   */
  add(objects: TestObject | Iterable<TestObject>): void {
    this.#objects.add(objects);
  }

  /** Puts an object, as it is, in the place of the one with its name; adds it where there is none. */
  set(object: TestObject): void {
    this.#objects.set(object);
  }

  /** Takes an object away at once, whatever its finalizers. Throws where there is none. */
  delete(name: ObjectName): void {
    this.#objects.delete(name);
  }

  /** The object of this kind and name as it is now; `undefined` where there is none. */
  get(name: ObjectName): StoredTestObject | undefined {
    return this.#objects.get(name);
  }

  /** All objects of a kind, in the order in which a client lists them; with a namespace those that are in it. */
  list(kind: ObjectsOfKind): readonly StoredTestObject[] {
    return this.#objects.list(kind);
  }

  /** Changes a namespace behind the clients' back: watches see it. Throws where that cannot be. */
  emit(type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, labels: Readonly<Record<string, string>> = {}): void {
    if (type === 'ADDED') this.#objects.addNamespace(name, labels);
    else if (type === 'MODIFIED') this.#objects.labelNamespace(name, labels);
    else this.delete({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  /**
   * Forgets what was, as etcd does every five minutes: a watch or a list that asks for a version before this one is told 410.
   * Open watches go on.
   */
  compact(): void {
    this.#api.state.store.compact();
  }

  /** Sends a bookmark to every watch that asked for bookmarks. They get one every minute without it. */
  sendBookmarks(): void {
    this.#api.bookmark();
  }

  /** Ends every watch, as a server does at a watch's timeout. */
  endWatches(): void {
    this.#api.endWatches();
  }

  /** Breaks every connection; the server goes on. */
  closeConnections(): void {
    this.#listener.closeConnections();
  }

  /** Asks every HTTP/2 client to use another connection (GOAWAY), and closes these when their requests have ended. */
  goAway(): void {
    this.#listener.goAway();
  }

  /** Stops and starts again on the same port, with the same certificate authority and the same objects. */
  async restart(): Promise<void> {
    await this.close();
    await this.#listen();
  }

  /** Ends the server and every connection. */
  async close(): Promise<void> {
    clearInterval(this.#bookmarks);
    await this.#listener.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #listen(): Promise<void> {
    await this.#listener.listen();
    this.#bookmarks = setInterval(() => this.sendBookmarks(), bookmarkEveryMs).unref();
  }

  #answer(request: Request, response: Response): void {
    this.#requests += 1;
    response.on('error', () => {});
    const user = this.#authenticate(request);
    const { method = 'GET', url = '/', headers } = request;
    if (user === undefined) this.#unauthorized += 1;
    else this.#byIdentity.set(user.username, (this.#byIdentity.get(user.username) ?? 0) + 1);
    const seen = { method, url, headers: { ...headers }, identity: user?.username };
    try {
      callNow('onRequest', () => this.#onRequest(seen), 'anything');
      const behaviour = this.#behaviours.take(seen);
      if (behaviour !== undefined) return misbehave(behaviour, request, response);
    } catch (error) {
      const message = `onRequest, or a filter of failNext, threw: ${error instanceof Error ? error.message : String(error)}`;
      return sendError(request, response, new ApiError(500, 'InternalError', message));
    }
    if (user === undefined) return sendError(request, response, new ApiError(401, 'Unauthorized', 'Unauthorized'));
    const prefix = this.#options.pathPrefix ?? '';
    if (url.startsWith(`${prefix}/`)) void this.#api.answer(request, response, url.slice(prefix.length), user);
    else sendError(request, response, new ApiError(404, 'NotFound', `${url} is outside of ${prefix}`));
  }

  /** A certificate is believed before a token, as an API server does it. */
  #authenticate(request: Request): User | undefined {
    const socket = request.socket as TLSSocket; // plain sockets have no `authorized`
    if (socket.authorized) {
      const { CN, O } = socket.getPeerCertificate().subject ?? {};
      const [username] = [CN].flat();
      if (username !== undefined) return withGroups({ username, ...(O === undefined ? {} : { groups: [O].flat() }) });
    }
    const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    return token === undefined ? undefined : this.#api.authenticate(token)?.user;
  }
}

const bookmarkEveryMs = 60_000;
