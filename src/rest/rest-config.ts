/** An access and its connections come in, a KubeConfig with authenticated requests goes out. It must not know how a credential is got. */
import type { Agent } from 'node:http';
import { type InspectOptions, inspect } from 'node:util';
import type { ApiConstructor, ApiType, KubeConfig, RequestContext } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { type ConfigAccess, printedWithoutValues } from '../access/resolve.ts';
import { ConfigurationError, signalOf } from '../errors/index.ts';
import type { Credential } from '../exec/credential.ts';
import { abortable } from '../util/abortable.ts';
import { ApiServer } from './api/api-server.ts';
import type { KindOf, KubernetesObject, TypeOf } from './api/kubernetes-object.ts';
import { ResourceClient, type ResourceServer } from './api/resource-client.ts';
import type { ResourceOptions } from './api/resource-options.ts';
import { fetchThrough } from './fetch.ts';
import { type KubeconfigOptions, type KubeconfigSource, readDefault, readKubeconfig } from './from-kubeconfig.ts';
import { generatedClient } from './generated-client.ts';
import { createHttpAgent, isWatch, watchesOf } from './http-agent.ts';
import { KubeConfigFace } from './kube-config-face.ts';
import { AuthenticatedDispatcher } from './request/dispatcher.ts';
import { refuseInPreview } from './request/preview.ts';
import type { Preview } from './request/previewed-writes.ts';
import { ConfigCredential, exportKubeconfig, type RestConfigParts } from './rest-config-parts.ts';
import { webSocketOptions } from './web-socket.ts';

/**
 * A client-node `KubeConfig` for one cluster: it has all of its public members, and any client-node class takes it. Each request gets the
 * plugin's credential. It is not an instance of client-node's class, which is not loaded: `toKubeConfig` makes one.
 * It is frozen, and holds one reference to the parts that equal configs share: `close()` releases only this one.
 *
 * @example
 * const core = providers.getConfig(clusterProfile).makeApiClient(CoreV1Api);
 */
export class RestConfig extends KubeConfigFace {
  /** What the profile and the providers, or a kubeconfig, made of it, for logs and tests: prints without the values of its variables. */
  readonly access: ConfigAccess;
  readonly #dispatcher: AuthenticatedDispatcher;
  readonly #watchDispatcher: Dispatcher;
  readonly #parts: RestConfigParts;
  #resourceServer: ResourceServer | undefined;
  #agent: Agent | undefined;

  private constructor(parts: RestConfigParts) {
    super(parts);
    const { access, destination, connections, preview } = parts;
    this.#parts = parts;
    this.access = printedWithoutValues(access, { json: true });
    this.#dispatcher = new AuthenticatedDispatcher(connections, destination, preview);
    this.#watchDispatcher = watchesOf(this.#dispatcher);
    // `const { fetch } = config`, and other clients that take a fetch.
    this.fetch = this.fetch.bind(this);
    Object.freeze(this);
  }

  /** @internal For `CredentialProviders.getConfig`, and for tests. */
  static create(parts: RestConfigParts): RestConfig {
    return new RestConfig(parts);
  }

  /** @internal `check` is asked for each request at the moment in which it is written: with an error it is not sent. */
  static setFence(config: RestConfig, check: () => Error | undefined): void {
    config.#dispatcher.fence = check;
  }

  /** @internal Another config with the same connections and credential, and with a fence. To be closed before `config`. */
  static withFence(config: RestConfig, check: () => Error | undefined): RestConfig {
    const fenced = RestConfig.#sharing(config, {});
    RestConfig.setFence(fenced, check);
    return fenced;
  }

  /** @internal Another config with the same connections and credential, which changes nothing. To be closed before `config`. */
  static withPreview(config: RestConfig, preview: Preview): RestConfig {
    return RestConfig.#sharing(config, { preview });
  }

  static #sharing(config: RestConfig, more: Partial<RestConfigParts>): RestConfig {
    const { stop: _, ...shared } = config.#parts;
    return new RestConfig({ ...shared, ...more });
  }

  /**
   * Gives a config for one context of an ordinary kubeconfig. Uses the token, tokenFile, user name or certificate of its user, else its
   * `exec` (client-go's order), else no credential. `as` and its companions are sent, and the context's namespace is that of objects
   * which name none. Nothing is shared with other configs: after `close()` connections and plugin runs end with the last open stream.
   *
   * @throws {ConfigurationError} `KUBECONFIG_*`, or `OPTION_INVALID`
   * @example
   * const config = RestConfig.fromKubeConfig({ path: '/etc/fleet/hub.kubeconfig' }, { context: 'staging' });
   */
  static fromKubeConfig(source: KubeconfigSource, options: KubeconfigOptions = {}): RestConfig {
    return new RestConfig(readKubeconfig(source, options));
  }

  /**
   * What kubectl would use: the files of `KUBECONFIG`, merged; else `~/.kube/config`; if these have no current context, the
   * service account of the pod that this process runs in, whose token may rotate.
   *
   * @throws {ConfigurationError} `KUBECONFIG_*`, or `OPTION_INVALID`
   * @example
   * const hub = RestConfig.fromDefault();
   */
  static fromDefault(options: KubeconfigOptions = {}): RestConfig {
    return new RestConfig(readDefault(options));
  }

  /** What its writes would have changed, if it is a preview. */
  get preview(): Preview | undefined {
    return this.#parts.preview;
  }

  /** An authenticated undici dispatcher, for direct use: `request(url, { dispatcher: config.dispatcher })`. */
  get dispatcher(): Dispatcher {
    return this.#dispatcher;
  }

  /**
   * An agent for HTTP clients built on `node:http` (axios, got, node-fetch, request). Their requests pass through this config's
   * dispatcher. It refuses requests to other servers, and does not support WebSockets.
   */
  get agent(): Agent {
    this.#agent ??= createHttpAgent(this.#dispatcher, this.#watchDispatcher);
    return this.#agent;
  }

  /**
   * `fetch` with the cluster's credential. `target` is a URL of the cluster's server, what comes after `server`: `/api/v1/pods`,
   * where a server with a path of its own keeps it, or a `Request`. `init.dispatcher` is not used. If the body breaks off, its reader
   * rejects with fetch's own error, whose `cause` is ours.
   *
   * @throws {CredentialsError} never `fetch failed`; or the signal's reason
   * @example
   * const response = await config.fetch('/version');
   */
  fetch(target: string | URL | Request, init?: RequestInit): Promise<Response> {
    return fetchThrough(this.#dispatcher, target, init ?? {});
  }

  /**
   * Reads and writes the objects of one kind as the wire has them, with server-side apply. Keep the config, or what this returns: the
   * server is asked once where it serves a group.
   *
   * @throws {ConfigurationError} `OPTION_INVALID`, names every bad option
   * @example
   * const maps = config.resource({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' });
   */
  resource<T extends KubernetesObject = never, const A extends string = string, const K extends string = string>(
    options: ResourceOptions & KindOf<A, K>,
  ): ResourceClient<TypeOf<T, A, K>>;
  /** @internal For a cluster of a fleet: where its caches know the kinds from. */
  resource<T extends KubernetesObject>(options: ResourceOptions, kinds: ApiServer): ResourceClient<T>;
  resource<T extends KubernetesObject>(options: ResourceOptions, kinds?: ApiServer): ResourceClient<T> {
    this.#resourceServer ??= {
      dispatcher: this.#dispatcher,
      kinds: kinds ?? new ApiServer(this),
      maxResponseBytes: this.#parts.connections.options.maxResponseBytes,
    };
    return new ResourceClient<T>(this.#resourceServer, options);
  }

  /** For logs: a few lines, without a certificate, a variable or anything of client-node's. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    const { provider, cluster, exec } = this.access;
    const { profile, name } = this.#dispatcher.cluster;
    const of = profile === undefined ? { name } : { profile };
    const command = exec ? { command: exec.command } : {};
    const shown = { ...of, server: cluster.server, provider, ...command, state: this.#dispatcher.state };
    return `RestConfig ${inspect(shown, { ...options, breakLength: 80, compact: false })}`;
  }

  /**
   * Fetches the credential now, so that a bad set-up shows at start-up. If `signal` aborts, the run continues for the next caller.
   *
   * @throws {PluginError} of the run; or the signal's reason
   */
  async ready(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    await this.#credential(signalOf('config.ready', options));
  }

  /**
   * The credential of every request, for a program with an HTTP client of its own: ask for it before each request, and call its
   * `reject()` after a 401. That program has to do what requests of this config do by themselves: verify `access.cluster`'s authority
   * and TLS name, use its proxy, stay below the paths of `allowedServers`, and send `Impersonate-*` headers: without them the
   * credential does not act as the user that you gave `getConfig`.
   *
   * @throws {PluginError} of the run; {RequestError} `CONFIG_CLOSED` after `close`, `PREVIEW_REFUSED`; or the signal's reason
   * @example
   * const { token } = await config.credential();
   */
  async credential(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<ConfigCredential> {
    const signal = signalOf('config.credential', options);
    refuseInPreview(this.#dispatcher, 'its credential is not handed out');
    const fenced = this.#dispatcher.fence?.();
    if (fenced) throw fenced;
    const credential = await this.#credential(signal);
    return new ConfigCredential(credential, () => this.#dispatcher.reject(credential));
  }

  /** Forgets the credential, for every config that shares it; the next request runs the plugin. */
  invalidate(): void {
    this.#dispatcher.connection().source.invalidate();
  }

  /** Gives this reference back. Open streams go on; new requests reject with `CONFIG_CLOSED`. */
  async close(): Promise<void> {
    await this.#dispatcher.close();
    const { connections, stop } = this.#parts;
    // If the connections are this config's alone, they end with it, and then the runs of its plugin.
    if (stop) connections.retire(() => stop.abort());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A generated client, such as `CoreV1Api`, on a faster HTTP library than client-node's own. */
  override makeApiClient<T extends ApiType>(apiClientType: ApiConstructor<T>): T {
    return generatedClient(apiClientType, this.#dispatcher, this.#parts.connections.options.maxResponseBytes);
  }

  /** For client-node's generated clients, `Watch`, `Log` and the rest: never rejects, the dispatcher does. */
  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    context.setDispatcher(isWatch(context.getUrl()) ? this.#watchDispatcher : this.#dispatcher);
  }

  /** For client-node's WebSockets (`Exec`, `Attach`, `PortForward`). */
  override async applyToHTTPSOptions(options: Parameters<KubeConfig['applyToHTTPSOptions']>[0]): Promise<void> {
    refuseInPreview(this.#dispatcher, 'a WebSocket has no dry run');
    const connection = this.#dispatcher.connection();
    await connection.refreshing;
    const credential = await this.#credential(undefined);
    const handshake = { dispatcher: this.#dispatcher, connection, credential };
    Object.assign(options, webSocketOptions(handshake, options.headers));
  }

  /** @throws {ConfigurationError} always: a user without its credentials would be `system:anonymous`. */
  override getCurrentUser(): never {
    const message =
      'has no credentials, because they rotate: use config.credential(), config.agent or config.dispatcher, or toKubeConfig for another version of client-node';
    throw new ConfigurationError('OPTION_INVALID', 'config.getCurrentUser', [{ path: '', message }]);
  }

  /** @throws {ConfigurationError} as `getCurrentUser` does */
  override getUser(_name: string): never {
    return this.getCurrentUser();
  }

  /** A kubeconfig for kubectl, as JSON: exec config, its extension, paths of credentials, but no token, password, key or login of a proxy. */
  override exportConfig(): string {
    return exportKubeconfig(this.#parts);
  }

  #credential(signal: AbortSignal | undefined): Promise<Credential> {
    return abortable(async () => {
      const connection = this.#dispatcher.connection();
      connection.addReference();
      try {
        const credential = await connection.source.get(this.#dispatcher.log);
        this.#dispatcher.log.hasCredential(connection.source.warnings);
        return credential;
      } catch (error) {
        throw this.#dispatcher.toOwnError(error);
      } finally {
        connection.removeReference();
      }
    }, signal);
  }
}
