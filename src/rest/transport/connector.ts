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

export type Connector = buildConnector.connector;

export interface ConnectorOptions {
  /** Offer HTTP/2. */
  readonly allowH2: boolean;
  /** Of `createContext`, for connectors that share it: making one takes longer than the rest of a dial. */
  readonly context?: () => SecureContext;
  /** Aborted: connections that are being opened are given up. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that a proxy, and then the server, may be silent while a connection is opened. @default 10_000 */
  readonly timeoutMs?: number;
}

/**
 * Opens verified connections to a cluster, through a proxy if there is one, with a TLS state of its own: for pools, and
 * with `allowH2: false` for WebSockets. Whatever goes wrong goes to the callback.
 */
export function createConnector(
  cluster: ResolvedCluster,
  keyPair: KeyPair | undefined,
  proxy: ProxyServer | undefined,
  { allowH2, signal, timeoutMs = 10_000, context = createContext(cluster, keyPair) }: ConnectorOptions,
): Connector {
  let direct: Connector | undefined;
  const connect: Connector = (options, callback) => {
    if (signal?.aborted) {
      options.httpSocket?.destroy();
      callback(connectionGivenUp(), null);
      return;
    }
    let opened: unknown;
    const giveUp = () => {
      if (opened instanceof Socket) opened.destroy(connectionGivenUp());
    };
    try {
      direct ??= createDirect(cluster, allowH2, timeoutMs, context);
      opened = direct(options, (...result) => {
        signal?.removeEventListener('abort', giveUp);
        if (result[0]) markConnecting(result[0]);
        callback(...result);
      });
      signal?.addEventListener('abort', giveUp, { once: true });
    } catch (error) {
      options.httpSocket?.destroy();
      const failure = error instanceof Error ? error : new Error('the connection could not be opened');
      markConnecting(failure);
      callback(failure, null);
    }
  };
  if (!proxy) return connect;
  let proxyTls: SecureContext | undefined;
  const secureContext = () => {
    proxyTls ??= proxyContext(authorityOf(cluster));
    return proxyTls;
  };
  return (options, callback) => {
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    openTunnel(proxy, unbracket(options.hostname), port, { timeoutMs, secureContext, signal }).then(
      (socket) => {
        if (options.protocol === 'https:') connect({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
}

/** What verifies the cluster and shows the certificate. It is made at its first use. */
export function createContext(cluster: ResolvedCluster, keyPair: KeyPair | undefined): () => SecureContext {
  let context: SecureContext | undefined;
  return () => {
    context ??= clusterContext(authorityOf(cluster), keyPair);
    return context;
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
): Connector {
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
  return (options, callback) => connect({ ...options, ...verified, hostname: unbracket(options.hostname) }, callback);
}
