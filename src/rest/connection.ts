import type { IncomingHttpHeaders } from 'node:http';
import { type buildConnector, Client, Pool } from 'undici';
import type { ResolvedCluster } from '../access/cluster.ts';
import type { Segments } from '../access/path-bounds.ts';
import { type CredentialSupply, Rejections, type SourceOptions } from '../exec/credential-source.ts';
import type { Credential, KeyPair } from '../exec/exec-credential.ts';
import type { PluginCall } from '../exec/plugin.ts';
import type { CredentialMetrics } from '../metrics.ts';
import { emit, type PoolChanged } from '../telemetry.ts';
import { createConnector } from './connector.ts';
import { heldBy } from './held-socket.ts';
import type { ProxyServer } from './proxy.ts';
import { pingIntervalMs } from './watchdog.ts';

/** What one connection needs to know: where to, and whose credential. */
export type Destination = DestinationParts & (PluginCredential | SuppliedCredential);

/** A plugin's credential, which configs with equal calls share. */
interface PluginCredential {
  readonly call: PluginCall;
  readonly supply?: undefined;
}

/** Of a kubeconfig or a service account: a credential that needs no plugin, this config's alone. */
interface SuppliedCredential {
  readonly call?: undefined;
  readonly supply: CredentialSupply;
}

interface DestinationParts {
  readonly cluster: ResolvedCluster;
  /** The access type, for messages and metrics. */
  readonly provider: string;
  /** Of a kubeconfig: the proxy with its login. */
  readonly proxyUrl?: string;
  /** The paths that `allowedServers` binds all requests to. */
  readonly pathBounds?: readonly Segments[] | undefined;
  /** Whether the provider that this was resolved with is still the one that is configured. */
  readonly isCurrent?: () => boolean;
  /** Of a kubeconfig: headers of every request, lower case. */
  readonly impersonation?: Impersonation;
}

/** Headers that say whom to impersonate. */
export type Impersonation = Readonly<Record<string, readonly string[]>>;

export interface ConnectionsOptions extends SourceOptions {
  /** Milliseconds that a connection and its credential are kept after the last lease on them. */
  readonly idleTimeoutMs: number;
  /** Treat a 403 as a 401. */
  readonly refreshOnForbidden: boolean;
  readonly metrics?: CredentialMetrics | undefined;
}

/** Sockets are kept open this long between requests, in milliseconds: undici's own 4 s would reconnect every poll. */
const keepAliveTimeoutMs = 90_000;

/** Milliseconds that the streams of an earlier certificate may go on. */
const longestDrainMs = 3_600_000;

/** One cluster, reached with one credential source: the pool of sockets that all its requests share. */
export class Connection {
  readonly cluster: ResolvedCluster;
  readonly source: CredentialSupply;
  readonly origin: string;
  readonly impersonation: Impersonation;
  /** The access type. */
  readonly provider: string;
  readonly #rejections = new Rejections();
  #refresh: Promise<Credential | undefined> | undefined;
  /** For tokens, and for requests that bring a credential of their own. */
  #bare: Pool | undefined;
  #certified: { readonly identity: string; readonly pool: Pool } | undefined;
  /** Pools of earlier certificates, while their last requests go on. */
  readonly #retired = new Set<Pool>();
  /** Requests under way and configs that hold a lease. */
  #holders = 0;
  #retiring = false;
  #idleSince = 0;
  readonly #proxy: ProxyServer | undefined;
  readonly #options: ConnectionsOptions;
  readonly #end = new AbortController();

  constructor(
    { cluster, provider, impersonation = {} }: Destination,
    source: CredentialSupply,
    proxy: ProxyServer | undefined,
    options: ConnectionsOptions,
  ) {
    this.cluster = cluster;
    this.impersonation = impersonation;
    this.provider = provider;
    this.#proxy = proxy;
    this.source = source;
    this.origin = new URL(cluster.server).origin;
    this.#options = options;
  }

  /** Aborted by `destroy()`. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  hold(): void {
    this.#holders += 1;
  }

  letGo(): void {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#idleSince = this.#options.clock();
    if (this.#retiring) this.retire();
  }

  /** Milliseconds since anybody used this connection; 0 while somebody does. */
  idleFor(now: number): number {
    return this.#holders > 0 ? 0 : now - this.#idleSince;
  }

  /** The pool without a client certificate. */
  get barePool(): Pool {
    this.#bare ??= this.#createPool(undefined);
    return this.#bare;
  }

  /**
   * The pool for a credential. A new client certificate gets a pool, and so a TLS state, of its own (a resumed session
   * would keep the old identity), and the old one closes when its requests have ended. A new token needs neither.
   */
  poolFor({ keyPair }: Credential): Pool {
    if (!keyPair) return this.barePool;
    if (this.#certified?.identity === keyPair.identity) return this.#certified.pool;
    if (this.#certified) this.#retire(this.#certified.pool, true);
    this.#certified = { identity: keyPair.identity, pool: this.#createPool(keyPair) };
    return this.#certified.pool;
  }

  #createPool(keyPair: KeyPair | undefined): Pool {
    const pool = createPool(this.origin, this.#connector(keyPair));
    this.#tell('opened', keyPair !== undefined);
    pool.on('disconnect', (_origin, _targets, error) => {
      if (!isGoAway(error)) return;
      // A later GOAWAY would be taken to speak of the streams of this connection too: new requests get a new pool.
      if (this.#bare === pool) this.#bare = undefined;
      else if (this.#certified?.pool === pool) this.#certified = undefined;
      else return;
      this.#retire(pool, keyPair !== undefined);
    });
    return pool;
  }

  /** Lets a pool's requests end by themselves, for an hour at most. */
  #retire(pool: Pool, hasCertificate: boolean): void {
    this.#retired.add(pool);
    this.#tell('retired', hasCertificate);
    const timer = setTimeout(() => pool.destroy().catch(() => undefined), longestDrainMs).unref();
    const end = () => {
      clearTimeout(timer);
      this.#retired.delete(pool);
      this.#tell('closed', hasCertificate);
    };
    // Nobody can be told of a failure to close: its requests have their own errors.
    pool.close().then(end, end);
  }

  #tell(change: PoolChanged['change'], hasCertificate: boolean): void {
    const { provider, origin } = this;
    emit(this.#options.observer, 'pool', { provider, origin, change, hasCertificate });
  }

  /** Opens one HTTP/1.1 connection, for a WebSocket, with the credential's certificate. */
  webSocketConnector({ keyPair }: Credential): buildConnector.connector {
    const options = { allowH2: false, signal: this.ended };
    return heldBy(this, createConnector(this.cluster, keyPair, this.#proxy, options));
  }

  #connector(keyPair: KeyPair | undefined): buildConnector.connector {
    // undici joins repeated headers on HTTP/2, and two groups are not one with a comma in its name.
    const repeated = Object.values(this.impersonation).some((values) => values.length > 1);
    return createConnector(this.cluster, keyPair, this.#proxy, { allowH2: !repeated, signal: this.ended });
  }

  /** Whether a response says that the credential was refused. */
  isRejection(statusCode: number): boolean {
    return statusCode === 401 || (statusCode === 403 && this.#options.refreshOnForbidden);
  }

  /** After a 401: the credential to try next, or `undefined` where there is none. Never rejects. */
  refresh(rejected: Credential, statusCode: number, headers: IncomingHttpHeaders): Promise<Credential | undefined> {
    const header = Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat()]])),
    );
    const response = { code: statusCode, header };
    const refresh = this.source.afterRejection(rejected, this.#rejections, response).then((credential) => {
      const { origin, provider } = this;
      const refreshed = credential !== undefined;
      emit(this.#options.observer, 'rejection', { provider, origin, statusCode, refreshed });
      return credential;
    });
    this.#refresh = refresh;
    return refresh;
  }

  /** Waits for a refresh that a 401 has started: what cannot be replayed should not go out with the old credential. */
  async refreshed(): Promise<void> {
    await this.#refresh;
  }

  /** A replay was accepted: the refresh was of use. */
  accepted(): void {
    this.#rejections.accepted();
  }

  /** Nobody holds it, and nothing of it goes on. */
  get drained(): boolean {
    return this.#holders === 0 && this.#retired.size === 0;
  }

  /** Lets every request end by itself, and every socket after it; those that still wait for a credential too. */
  retire(): void {
    this.#retiring = true;
    if (this.#bare) this.#retire(this.#bare, false);
    if (this.#certified) this.#retire(this.#certified.pool, true);
    this.#bare = undefined;
    this.#certified = undefined;
  }

  /** Ends every request and every socket. */
  async destroy(): Promise<void> {
    this.#end.abort();
    const pools = [this.#bare, this.#certified?.pool, ...this.#retired];
    this.#retired.clear();
    this.#bare = undefined;
    this.#certified = undefined;
    await Promise.all(pools.map((pool) => pool?.destroy()));
  }
}

function createPool(origin: string, connect: buildConnector.connector): Pool {
  return new Pool(origin, {
    allowH2: true,
    connect,
    h2Options: { pingInterval: pingIntervalMs },
    keepAliveTimeout: keepAliveTimeoutMs,
    // A quiet watch is not a dead one.
    bodyTimeout: 0,
    factory: createClient,
  });
}

/**
 * After a GOAWAY undici counts the streams that go on as if they were HTTP/1.1 requests, and with one of them it would never
 * connect again for those that it has to repeat. Until there is a new connection, which says what it is, many may wait.
 */
function createClient(origin: URL, options: Client.Options): Client {
  const client = new Client(origin, options);
  client.on('disconnect', () => {
    client.pipelining = 1_000_000;
  });
  client.on('connect', () => {
    client.pipelining = 1;
  });
  return client;
}

/** The server is closing the connection. */
export function isGoAway(error: Error): boolean {
  return 'code' in error && error.code === 'UND_ERR_INFO' && error.message.includes('GOAWAY');
}
