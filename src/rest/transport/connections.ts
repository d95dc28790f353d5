import { longestMs } from '../../access/duration.ts';
import { ExecCredentialSource } from '../../exec/exec-credential-source.ts';
import type { PluginCall } from '../../exec/plugin-call.ts';
import { sourceKey } from '../../exec/plugin-call.ts';
import type { CachedCredential, CredentialCache } from '../../observability/metrics.ts';
import { WarningLimiter } from '../../observability/warning-limiter.ts';
import type { ClusterLog, LogOptions } from './cluster-log.ts';
import { Connection, type ConnectionOptions, type ConnectionsOptions } from './connection.ts';
import type { Destination } from './destination.ts';
import { parseProxy, proxyUrlFor } from './proxy.ts';

/** The connections and credential sources of one `CredentialProviders`, shared by equal content. */
export class Connections implements CredentialCache {
  readonly #options: ConnectionOptions;
  readonly #connections = new Map<string, Connection>();
  readonly #sources = new Map<string, { readonly source: ExecCredentialSource; users: number }>();
  readonly #sourceOf = new Map<Connection, string>();
  /** Given out no more, while their last requests go on. */
  readonly #dropped = new Set<Connection>();
  #sweepAt = Number.POSITIVE_INFINITY;
  /** When that was set: a clock that stands before it was set back, and the wait is over. */
  #sweepFrom = Number.NEGATIVE_INFINITY;
  #sweepTimer: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #detach: (() => void) | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = { ...options, observer: options.metrics?.observer, warnings: new WarningLimiter(options) };
    this.#detach = options.metrics?.attach(this);
  }

  /** The cached credentials. */
  cached(): readonly CachedCredential[] {
    return [...this.#sources.values()].map(({ source }) => source.cached);
  }

  /** Drops the connections and credentials of access types; requests under way go on. */
  drop(providers: ReadonlySet<string>): void {
    for (const connection of this.#dropped) if (connection.drained) this.#dropped.delete(connection);
    for (const [key, connection] of this.#connections) {
      if (!providers.has(connection.provider)) continue;
      this.#connections.delete(key);
      this.#dropSource(connection);
      this.#dropped.add(connection);
      connection.retire();
    }
  }

  get maxResponseBytes(): number {
    return this.#options.maxResponseBytes;
  }

  /** For what is said of a cluster. */
  get log(): LogOptions {
    return this.#options;
  }

  /** How many are kept now. */
  get size(): { readonly connections: number; readonly sources: number } {
    return { connections: this.#connections.size, sources: this.#sources.size };
  }

  /** The connection for a destination, held for the caller: `release` gives it back. */
  acquire(destination: Destination, log: ClusterLog): Connection {
    const { cluster, call, supply } = destination;
    this.sweep();
    // A supply has these connections to itself.
    const sourceId = call ? sourceKey(call) : '';
    const { server, certificateAuthorityData, tlsServerName, insecureSkipTlsVerify, disableCompression } = cluster;
    const url = new URL(server);
    // Looked at for each config, as the process's environment is.
    const proxyUrl = proxyUrlFor(url, destination.proxyUrl ?? cluster.proxyUrl, process.env);
    const target = [
      url.origin,
      certificateAuthorityData,
      tlsServerName,
      insecureSkipTlsVerify,
      proxyUrl,
      disableCompression,
    ];
    const key = JSON.stringify([...target, sourceId]);
    let connection = this.#connections.get(key);
    if (!connection) {
      const proxy = proxyUrl === undefined ? undefined : parseProxy(proxyUrl);
      const source = call ? this.#useSource(sourceId, call) : supply;
      connection = new Connection(destination, source, proxy, this.#options, log);
      this.#connections.set(key, connection);
      if (call) this.#sourceOf.set(connection, sourceId);
    }
    connection.hold();
    return connection;
  }

  release(connection: Connection): void {
    connection.letGo();
    this.#sweepBy(this.#options.clock(), this.#options.idleTimeoutMs);
    this.sweep();
  }

  /** Drops what was not used for `idleTimeoutMs`: at the next event, else by a timer, which does not keep the process alive. */
  sweep(): void {
    this.#sweepNow();
    if (this.#sweepAt === Number.POSITIVE_INFINITY || this.#sweepTimer) return;
    const later = () => {
      this.#sweepTimer = undefined;
      this.sweep();
    };
    // A moment later than asked for: a timer may come early. A clock of the caller's may go at another pace: it is asked again.
    this.#sweepTimer = setTimeout(later, Math.min(this.#options.idleTimeoutMs + 5, longestMs)).unref();
  }

  #sweepNow(): void {
    const now = this.#options.clock();
    if (now >= this.#sweepFrom && now < this.#sweepAt) return;
    this.#sweepAt = Number.POSITIVE_INFINITY;
    for (const [key, connection] of this.#connections) {
      const idle = connection.idleFor(now);
      if (idle >= this.#options.idleTimeoutMs) {
        this.#connections.delete(key);
        this.#dropSource(connection);
        connection.destroy();
      } else {
        this.#sweepBy(now, this.#options.idleTimeoutMs - idle);
      }
    }
  }

  #sweepBy(now: number, ms: number): void {
    this.#sweepAt = Math.min(this.#sweepAt, now + ms);
    this.#sweepFrom = now;
  }

  /** True once `close()` has been called: nothing is given out any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Gives nothing out any more; requests under way go on, and what they use ends with them. Then calls `ended`. */
  retire(ended: () => void): void {
    this.#closed = true;
    clearTimeout(this.#sweepTimer);
    this.#detach?.();
    const left = new Set(this.#connections.values());
    if (left.size === 0) ended();
    for (const connection of this.#connections.values())
      connection.retire(() => {
        if (left.delete(connection) && left.size === 0) ended();
      });
    this.#connections.clear();
    this.#sources.clear();
    this.#sourceOf.clear();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#sweepTimer);
    this.#detach?.();
    const all = [...this.#connections.values(), ...this.#dropped];
    this.#dropped.clear();
    this.#connections.clear();
    this.#sources.clear();
    this.#sourceOf.clear();
    for (const connection of all) connection.destroy();
  }

  #useSource(id: string, call: PluginCall): ExecCredentialSource {
    const entry = this.#sources.get(id) ?? { source: new ExecCredentialSource(call, this.#options), users: 0 };
    entry.users += 1;
    this.#sources.set(id, entry);
    return entry.source;
  }

  #dropSource(connection: Connection): void {
    const id = this.#sourceOf.get(connection);
    const entry = id === undefined ? undefined : this.#sources.get(id);
    this.#sourceOf.delete(connection);
    if (id === undefined || !entry) return;
    entry.users -= 1;
    if (entry.users === 0) this.#sources.delete(id);
  }
}
