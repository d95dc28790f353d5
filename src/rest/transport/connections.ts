/** The connections and credential sources of one `CredentialProviders`, shared by equal content. */
import { ExecCredentialSource } from '../../exec/exec-credential-source.ts';
import { type PluginCall, sourceKey } from '../../exec/plugin-call.ts';
import type { CachedCredential, CredentialCache } from '../../observability/metrics.ts';
import { WarningLimiter } from '../../observability/warning-limiter.ts';
import { Connection, type ConnectionOptions, type ConnectionsOptions, type Destination } from './connection.ts';
import { parseProxy, proxyUrlFor } from './proxy.ts';

export const providersClosed = 'the CredentialProviders have been closed: make new ones, and get the config from them';

export class Connections implements CredentialCache {
  readonly options: ConnectionOptions;
  readonly #connections = new Map<string, Connection>();
  readonly #sources = new Map<string, ExecCredentialSource>();
  /** All that have not ended, including those that take no new requests while their last ones finish. */
  readonly #live = new Set<Connection>();
  #closed = false;
  #onLastEnd: (() => void) | undefined;
  readonly #detach: (() => void) | undefined;

  constructor(options: ConnectionsOptions) {
    this.options = { ...options, observer: options.metrics?.observer, warnings: new WarningLimiter(options) };
    this.#detach = options.metrics?.attach(this);
  }

  cached(): readonly CachedCredential[] {
    return [...this.#sources.values()].map((source) => source.cached);
  }

  /** Drops the connections and credentials of access types; requests under way go on. */
  drop(providers: ReadonlySet<string>): void {
    for (const [key, connection] of this.#connections) {
      if (!providers.has(connection.provider)) continue;
      this.#forget(key, connection);
      connection.retire();
    }
  }

  /** How many are kept now. */
  get size(): { readonly connections: number; readonly sources: number } {
    return { connections: this.#connections.size, sources: this.#sources.size };
  }

  /** The connection for a destination, with a reference to it: `removeReference` gives it back. */
  acquire(destination: Destination): Connection {
    const { cluster, call } = destination;
    // A source of the destination's own is not shared, so it needs no key.
    const sourceId = call ? sourceKey(call) : '';
    // Looked at for each config, as the process's environment is.
    const proxyUrl = proxyUrlFor(new URL(cluster.server), destination.proxyUrl ?? cluster.proxyUrl, process.env);
    // With the server's path: of the clusters behind one gateway, some may hang, or refuse a credential.
    const key = JSON.stringify([{ ...cluster, proxyUrl: undefined }, proxyUrl, sourceId]);
    const existing = this.#connections.get(key);
    if (existing) {
      existing.addReference();
      return existing;
    }
    const proxy = proxyUrl === undefined ? undefined : parseProxy(proxyUrl);
    const source = call ? this.#sourceOf(sourceId, call) : destination.source;
    const connection: Connection = new Connection(destination, source, proxy, this.options, () =>
      this.#end(key, connection),
    );
    this.#connections.set(key, connection);
    this.#live.add(connection);
    connection.addReference();
    return connection;
  }

  /** True once `close()` has been called: nothing is given out any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Takes no new requests. Requests in flight finish, and release what they use; then calls `ended`. */
  retire(ended: () => void): void {
    this.#stop();
    this.#onLastEnd = ended;
    if (this.#live.size === 0) ended();
    for (const connection of this.#live) connection.retire();
  }

  async close(): Promise<void> {
    this.#stop();
    for (const connection of this.#live) connection.destroy();
    this.#live.clear();
  }

  #stop(): void {
    this.#closed = true;
    this.#detach?.();
    this.#connections.clear();
    this.#sources.clear();
  }

  #end(key: string, connection: Connection): void {
    this.#forget(key, connection);
    this.#live.delete(connection);
    connection.destroy();
    if (this.#live.size === 0) this.#onLastEnd?.();
  }

  #sourceOf(id: string, call: PluginCall): ExecCredentialSource {
    const source = this.#sources.get(id) ?? new ExecCredentialSource(call, this.options);
    this.#sources.set(id, source);
    return source;
  }

  /** Gives a connection out no more, nor its source if no other connection has it. */
  #forget(key: string, connection: Connection): void {
    if (this.#connections.get(key) === connection) this.#connections.delete(key);
    for (const { source } of this.#connections.values()) if (source === connection.source) return;
    for (const [id, source] of this.#sources) if (source === connection.source) this.#sources.delete(id);
  }
}
