import { isIP, Socket } from 'node:net';
import { checkServerIdentity, type SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import type { ResolvedCluster } from '../../access/cluster.ts';
import type { KeyPair } from '../../exec/credential.ts';
import { bracket, unbracket } from '../../util/hosts.ts';
import { markConnecting } from './connection-errors.ts';
import type { ProxyServer } from './proxy.ts';
import { clusterContext, proxyContext } from './trust.ts';
import { connectionGivenUp, keepAliveInitialDelay, openTunnel } from './tunnel.ts';

/** Opens a connection to a cluster. */
export type Connector = () => Promise<Socket>;

export interface ConnectorOptions {
  /** Offer HTTP/2. */
  readonly allowH2: boolean;
  /** Of `createContext`. Connectors may share it: making one takes longer than the rest of a dial. */
  readonly context: () => SecureContext;
  /** Aborted: connections that are being opened are given up. */
  readonly signal: AbortSignal;
  /** Milliseconds that a proxy, and then the server, may be silent while a connection is opened. */
  readonly timeoutMs: number;
}

/**
 * Opens verified connections to a cluster, through a proxy if there is one, with a TLS state of its own: for pools, and
 * with `allowH2: false` for WebSockets.
 */
export function createConnector(
  cluster: ResolvedCluster,
  proxy: ProxyServer | undefined,
  { allowH2, context, signal, timeoutMs }: ConnectorOptions,
): Connector {
  const { protocol, hostname, host, port } = new URL(cluster.server);
  const target = { protocol, hostname: unbracket(hostname), host, port };
  const connector = lazily(() => createDirect(cluster, allowH2, timeoutMs, context));
  const secureContext = lazily(() => proxyContext(authorityOf(cluster)));
  return async () => {
    let tunnel: Socket | undefined;
    try {
      if (proxy) {
        const number = Number(port) || (protocol === 'https:' ? 443 : 80);
        tunnel = await openTunnel(proxy, target.hostname, number, { timeoutMs, secureContext, signal });
        if (protocol !== 'https:') return tunnel;
      }
      return await connected(connector(), tunnel ? { ...target, httpSocket: tunnel } : target, signal);
    } catch (error) {
      tunnel?.destroy();
      if (error instanceof Error) markConnecting(error);
      throw error;
    }
  };
}

/** Calls a connector of undici's. */
async function connected(
  connect: buildConnector.connector,
  target: buildConnector.Options,
  signal: AbortSignal,
): Promise<Socket> {
  if (signal.aborted) throw connectionGivenUp();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const opened: unknown = connect(target, (error, socket) => (socket ? resolve(socket) : reject(error)));
  const giveUp = () => {
    if (opened instanceof Socket) opened.destroy(connectionGivenUp());
  };
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** What verifies the cluster and shows the certificate. It is made at its first use. */
export function createContext(cluster: ResolvedCluster, keyPair: KeyPair | undefined): () => SecureContext {
  return lazily(() => clusterContext(authorityOf(cluster), keyPair));
}

function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function authorityOf({ certificateAuthorityData }: ResolvedCluster): string | undefined {
  return certificateAuthorityData && Buffer.from(certificateAuthorityData, 'base64').toString();
}

/**
 * The name that is verified is set for every handshake: a caller's Host header would otherwise decide it. An address is
 * verified too, but cannot be sent as a server name (SNI).
 */
function createDirect(
  cluster: ResolvedCluster,
  allowH2: boolean,
  timeout: number,
  context: () => SecureContext,
): buildConnector.connector {
  const { protocol, hostname } = new URL(cluster.server);
  if (protocol !== 'https:') return buildConnector({ allowH2, timeout, keepAliveInitialDelay });
  const name = unbracket(cluster.tlsServerName ?? hostname).replace(/\.$/, '');
  const connect = buildConnector({
    secureContext: context(),
    rejectUnauthorized: !cluster.insecureSkipTlsVerify,
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
    allowH2,
    preferH2: true,
    timeout,
    keepAliveInitialDelay,
  });
  const verified = isIP(name) > 0 ? { host: bracket(name), servername: '' } : { servername: name };
  return (target, callback) => connect({ ...target, ...verified }, callback);
}
