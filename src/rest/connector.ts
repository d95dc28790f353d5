import { TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import type { ResolvedCluster } from '../access/cluster.ts';
import type { KeyPair } from '../exec/exec-credential.ts';
import { unbracket } from './no-proxy.ts';
import type { ProxyServer } from './proxy.ts';
import { openTunnel } from './tunnel.ts';
import { watchForSilence } from './watchdog.ts';

type Connect = buildConnector.connector;

/** Milliseconds until a proxy that says nothing is given up. */
const tunnelTimeoutMs = 30_000;

/**
 * Opens verified connections to a cluster, through a proxy where there is one, with a TLS state of its own: for pools, and
 * with `allowH2: false` for WebSockets.
 */
export function createConnector(
  cluster: ResolvedCluster,
  keyPair: KeyPair | undefined,
  proxy: ProxyServer | undefined,
  allowH2: boolean,
): Connect {
  const { certificateAuthorityData, insecureSkipTlsVerify, tlsServerName } = cluster;
  const certificateAuthority = certificateAuthorityData && Buffer.from(certificateAuthorityData, 'base64').toString();
  const connect = buildConnector({
    ...(certificateAuthority ? { ca: certificateAuthority } : {}),
    ...(keyPair ? { cert: keyPair.certificate, key: keyPair.key } : {}),
    rejectUnauthorized: !insecureSkipTlsVerify,
    allowH2,
  });
  // The name is set for every handshake: a caller's Host header would otherwise decide which one is verified.
  const servername = tlsServerName ?? '';
  const secure: Connect = (options, callback) => {
    connect({ ...options, servername }, (...result) => {
      const [, socket] = result;
      if (socket instanceof TLSSocket && socket.alpnProtocol === 'h2') watchForSilence(socket);
      callback(...result);
    });
  };
  if (!proxy) return secure;
  return (options, callback) => {
    const hostname = unbracket(options.hostname);
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    openTunnel(proxy, hostname, port, { timeoutMs: tunnelTimeoutMs, certificateAuthority }).then(
      (socket) => {
        if (options.protocol === 'https:') secure({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(error, null),
    );
  };
}
