/** Opens verified connections to a cluster, through a proxy if there is one. */
import { isIP, Socket } from 'node:net';
import { checkServerIdentity, type SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import type { ResolvedCluster } from '../../access/cluster.ts';
import { abortable } from '../../util/abortable.ts';
import { bracket, unbracket } from '../../util/hosts.ts';
import { markConnecting } from './connection-errors.ts';
import type { ProxyServer } from './proxy.ts';
import { lazily, proxyContext } from './trust.ts';
import { type DialOptions, keepAliveInitialDelay, openTunnel } from './tunnel.ts';

export type Connector = () => Promise<Socket>;

interface ConnectorOptions extends DialOptions {
  readonly allowH2: boolean;
  /** Of `clusterContext`. Connectors may share it. */
  readonly context: () => SecureContext;
}

/** What opens connections, with a TLS state of its own: for pools, and with `allowH2: false` for WebSockets. */
export function createConnector(
  cluster: ResolvedCluster,
  proxy: ProxyServer | undefined,
  options: ConnectorOptions,
): Connector {
  const { protocol, hostname, host, port } = new URL(cluster.server);
  const target = { protocol, hostname: unbracket(hostname), host, port };
  const connector = lazily(() => createDirect(cluster, options));
  const ofProxy = proxyContext(cluster);
  return async () => {
    let tunnel: Socket | undefined;
    try {
      if (proxy) {
        tunnel = await openTunnel(proxy, cluster, options, ofProxy);
        if (protocol !== 'https:') return tunnel;
      }
      return await connected(connector(), tunnel ? { ...target, httpSocket: tunnel } : target, options.signal);
    } catch (error) {
      tunnel?.destroy();
      if (error instanceof Error) markConnecting(error);
      throw error;
    }
  };
}

async function connected(
  connect: buildConnector.connector,
  target: buildConnector.Options,
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const opened: unknown = connect(target, (error, socket) => (socket ? resolve(socket) : reject(error)));
  try {
    return await abortable(() => promise, signal);
  } catch (error) {
    // Not without an error: undici's timer would go on.
    if (opened instanceof Socket) opened.destroy(new Error('given up'));
    throw error;
  }
}

/**
 * The name that is verified is set for every handshake: a caller's Host header would otherwise decide it. An address is
 * verified too, but cannot be sent as a server name (SNI).
 */
function createDirect(
  cluster: ResolvedCluster,
  { allowH2, context, timeoutMs: timeout }: ConnectorOptions,
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
