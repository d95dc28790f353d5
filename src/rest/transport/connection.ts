/** One cluster, reached with one credential source, and what a config says of both. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ResolvedCluster } from '../../access/cluster.ts';
import type { ImpersonationConfig } from '../../access/impersonation.ts';
import type { Segments } from '../../access/url-pattern.ts';
import { RequestError } from '../../errors/index.ts';
import type { Credential } from '../../exec/credential.ts';
import { type CredentialSource, Rejections } from '../../exec/credential-source.ts';
import type { SourceOptions } from '../../exec/exec-credential-source.ts';
import type { PluginCall } from '../../exec/plugin-call.ts';
import type { CredentialMetrics } from '../../observability/metrics.ts';
import { emit } from '../../observability/telemetry.ts';
import { longestMs } from '../../util/abortable.ts';
import { ClusterLog, type LogOptions } from './cluster-log.ts';
import { Pools, type PoolsOptions } from './pools.ts';
import type { ProxyServer } from './proxy.ts';
import type { AuthorityFile } from './trust.ts';

/**
 * What one connection needs to know: where to, and whose credential. That is a plugin's, which configs with equal calls share, or one
 * that needs no plugin, of a kubeconfig or a service account, which is this config's alone.
 */
export type Destination = DestinationParts &
  (
    | { readonly call: PluginCall; readonly source?: undefined }
    | { readonly call?: undefined; readonly source: CredentialSource }
  );

interface DestinationParts {
  /** For errors: `ClusterProfile fleet/spoke-1`, or `kubeconfig context staging`. */
  readonly name: string;
  /** `namespace/name` of the ClusterProfile, if there is one. */
  readonly profile?: string;
  readonly cluster: ResolvedCluster;
  /** Of a kubeconfig: where the cluster's authority comes from. */
  readonly authorityFile?: AuthorityFile | undefined;
  /** The access type, for messages and metrics. */
  readonly provider: string;
  /** Of a kubeconfig: the proxy with its login. */
  readonly proxyUrl?: string;
  /** The paths that `allowedServers` binds all requests to. */
  readonly pathBounds?: readonly Segments[] | undefined;
  /** Whether the provider that this was resolved with is still the one that is configured. */
  readonly isCurrent?: () => boolean;
  readonly impersonation?: ImpersonationConfig | undefined;
}

export type ConnectionOptions = ConnectionsOptions & LogOptions;

export interface ConnectionsOptions extends Omit<SourceOptions, 'warnings'>, PoolsOptions {
  /** Milliseconds that a connection and its credential are kept after the last reference to them. */
  readonly idleTimeoutMs: number;
  /** Treat a 403 as a 401. */
  readonly refreshOnForbidden: boolean;
  readonly metrics?: CredentialMetrics | undefined;
  /** Bytes of a response for a generated client. */
  readonly maxResponseBytes: number;
}

/** A request that is under way, or the socket that one has become. */
interface UnderWay {
  end(reason: Error): void;
}

export class Connection {
  readonly cluster: ResolvedCluster;
  readonly source: CredentialSource;
  readonly origin: string;
  readonly provider: string;
  /** They send the requests of all its configs. */
  readonly pools: Pools;
  readonly rejections = new Rejections();
  #refresh: Promise<Credential | undefined> | undefined;
  /** How many configs, requests and upgraded sockets use it. */
  #references = 0;
  /** With the config that each belongs to. A request may wait for a credential, be in a pool, or on the wire. */
  readonly #underWay = new Map<UnderWay, object>();
  #retiring = false;
  /** Runs while there are no references. */
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #onUnused: () => void;
  readonly options: ConnectionOptions;
  readonly #end = new AbortController();
  /** Aborted by `destroy()`: nothing goes out any more. */
  readonly ended: AbortSignal = this.#end.signal;

  /** `onUnused` is called when there has been no reference for `idleTimeoutMs`; at once after `retire`. */
  constructor(
    { name, profile, cluster, authorityFile, provider }: Destination,
    source: CredentialSource,
    proxy: ProxyServer | undefined,
    options: ConnectionOptions,
    onUnused: () => void,
  ) {
    this.cluster = cluster;
    this.provider = provider;
    this.source = source;
    this.origin = new URL(cluster.server).origin;
    this.options = options;
    this.#onUnused = onUnused;
    // The log is of the cluster that this was made for: others with the same server may share it.
    const log = new ClusterLog({ name, profile, server: cluster.server }, provider, options, () => source.secrets);
    const target = { cluster, authorityFile, origin: this.origin, proxy, provider, ended: this.ended };
    this.pools = new Pools(target, options, log);
  }

  addReference(): void {
    clearTimeout(this.#idleTimer);
    this.#references += 1;
  }

  removeReference(): void {
    this.#references -= 1;
    if (this.#references > 0) return;
    if (this.#retiring) this.#onUnused();
    else this.#idleTimer = setTimeout(this.#onUnused, Math.min(this.options.idleTimeoutMs, longestMs)).unref();
  }

  /** A request of a config begins. It ends with this connection at the latest. */
  begin(request: UnderWay, config: object): void {
    this.#underWay.set(request, config);
    this.addReference();
  }

  /** Returns false if it was known already. */
  finished(request: UnderWay): boolean {
    if (!this.#underWay.delete(request)) return false;
    this.removeReference();
    return true;
  }

  /** Ends the requests in flight of one config. */
  end(config: object, reason: Error): void {
    for (const [request, owner] of this.#underWay) if (owner === config) request.end(reason);
  }

  /** Opens an HTTP/1.1 connection for a WebSocket, with the credential's certificate. It ends with this connection at the latest. */
  async openForWebSocket({ keyPair }: Credential, config: object): Promise<Socket> {
    const socket = await this.pools.openForWebSocket(keyPair);
    // Nobody may listen to the errors of a socket that an upgrade has left.
    socket.on('error', () => undefined);
    const kept = { end: (reason: Error) => void socket.destroy(reason) };
    this.begin(kept, config);
    socket.once('close', () => this.finished(kept));
    return socket;
  }

  /** Whether a response says that the credential was refused. */
  isRejection(statusCode: number): boolean {
    return statusCode === 401 || (statusCode === 403 && this.options.refreshOnForbidden);
  }

  /** After a 401: the credential to try next, or `undefined` if there is no better one. Never rejects. */
  refresh(
    rejected: Credential,
    statusCode: number,
    headers: IncomingHttpHeaders,
    log: ClusterLog,
  ): Promise<Credential | undefined> {
    const header = Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat()]])),
    );
    const response = { code: statusCode, header };
    const refresh = this.source.afterRejection(rejected, this.rejections, response, log).then((credential) => {
      const { origin, provider } = this;
      emit(this.options.observer, 'rejection', { provider, origin, statusCode, refreshed: credential !== undefined });
      return credential;
    });
    this.#refresh = refresh;
    refresh.then(() => {
      if (this.#refresh === refresh) this.#refresh = undefined;
    });
    return refresh;
  }

  /** A refresh that a 401 has started: what cannot be replayed should not go out with the old credential. Never rejects. */
  get refreshing(): Promise<unknown> | undefined {
    return this.#refresh;
  }

  /** Lets every request end by itself, and every socket after it; those that still wait for a credential too. */
  retire(): void {
    this.#retiring = true;
    clearTimeout(this.#idleTimer);
    if (this.#references === 0) this.#onUnused();
    else this.pools.retire();
  }

  /** Ends every request and every socket; nothing goes out afterwards. */
  destroy(): void {
    clearTimeout(this.#idleTimer);
    const closed = new RequestError('CONFIG_CLOSED', 'the CredentialProviders have been closed');
    this.#end.abort(closed);
    for (const request of this.#underWay.keys()) request.end(closed);
    this.pools.destroy(closed);
  }
}
