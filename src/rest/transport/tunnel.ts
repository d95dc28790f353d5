/** Opens a connection to a cluster's server through a proxy, by CONNECT or SOCKS5, and says what is wrong with the proxy. */
import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { ResolvedCluster } from '../../access/cluster.ts';
import { RequestError, type RequestErrorCode } from '../../errors/index.ts';
import { abortable } from '../../util/abortable.ts';
import { unbracket } from '../../util/hosts.ts';
import type { ProxyServer } from './proxy.ts';
import { proxyContext } from './trust.ts';

/** An import of it would load Node's own `fetch` and WebSocket with it, which takes longer than the start of Node. */
const { request: httpRequest } = process.getBuiltinModule('node:http');

/** Milliseconds until an idle socket is probed. libuv then sends ten probes, a second apart, before it closes the socket. */
export const keepAliveInitialDelay = 15_000;

export interface DialOptions {
  /** Milliseconds that a proxy, and then the server, may be silent while a connection is opened. */
  readonly timeoutMs: number;
  /** Aborted: connections that are being opened are given up. */
  readonly signal: AbortSignal;
}

/** Rejects with a `RequestError` that never holds the login. */
export async function openTunnel(
  proxy: ProxyServer,
  cluster: Pick<ResolvedCluster, 'server' | 'certificateAuthorityData'>,
  { timeoutMs, signal }: DialOptions,
  secureContext = proxyContext(cluster),
): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connectTo(proxy, secureContext);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Stays for good: there is no other listener until the caller has the socket.
  socket.on('error', (error) => reject(unreachable(proxy, error)));
  const timer = setTimeout(() => reject(silent(proxy, timeoutMs)), timeoutMs);
  try {
    const ask = () => askProxy(proxy, socket, new URL(cluster.server), timeoutMs);
    await abortable(() => Promise.race([ask(), failed]), signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** An https proxy has to prove its own name, whichever server it leads to. */
function connectTo({ protocol, hostname: host, port }: ProxyServer, secureContext: () => SecureContext): Socket {
  if (protocol !== 'https:') return connectTcp({ host, port });
  const servername = isIP(host) > 0 ? '' : host;
  return connectTls({ host, port, servername, secureContext: secureContext(), ALPNProtocols: ['http/1.1'] });
}

async function askProxy(
  proxy: ProxyServer,
  socket: Socket,
  { protocol, hostname, port }: URL,
  timeoutMs: number,
): Promise<void> {
  // Nothing is said before an https proxy has proved who it is: a login least of all.
  await once(socket, proxy.protocol === 'https:' ? 'secureConnect' : 'connect');
  // Not an option of connect: Node 22 does not look at it for TLS.
  socket.setKeepAlive(true, keepAliveInitialDelay);
  const host = unbracket(hostname);
  const number = Number(port) || (protocol === 'https:' ? 443 : 80);
  if (proxy.protocol === 'socks5:') await askSocks(proxy, socket, { host, port: number }, timeoutMs);
  else await askHttp(proxy, socket, `${hostname}:${number}`);
}

function askHttp(proxy: ProxyServer, socket: Socket, target: string): Promise<void> {
  const { login } = proxy;
  const authorization = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const request = httpRequest({
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...(authorization ? { 'proxy-authorization': authorization } : {}) },
    createConnection: () => socket,
  });
  request.on('connect', ({ statusCode = 0 }, _socket, head) => {
    if (head.length > 0) socket.unshift(head);
    if (statusCode >= 200 && statusCode < 300) resolve();
    else reject(refused(proxy, statusCode));
  });
  request.on('error', (error) => reject(unreachable(proxy, error)));
  request.end();
  return promise;
}

/** The longest text in a SOCKS5 message, in bytes: its length is one byte (RFC 1928, RFC 1929). */
const longestSocksText = 255;

async function askSocks(
  proxy: ProxyServer,
  socket: Socket,
  destination: { readonly host: string; readonly port: number },
  timeout: number,
): Promise<void> {
  const { login } = proxy;
  const texts = { 'host name': destination.host, user: login?.username ?? '', password: login?.password ?? '' };
  for (const [what, text] of Object.entries(texts)) {
    if (Buffer.byteLength(text) <= longestSocksText) continue;
    const advice = what === 'host name' ? 'correct the server' : 'correct HTTPS_PROXY';
    throw proxyFailed(proxy, `SOCKS5 takes a ${what} of ${longestSocksText} bytes at most: ${advice}`);
  }
  const { SocksClient } = await import('socks');
  try {
    await SocksClient.createConnection({
      proxy: {
        host: proxy.hostname,
        port: proxy.port,
        type: 5,
        ...(login ? { userId: login.username, password: login.password } : {}),
      },
      command: 'connect',
      destination,
      existing_socket: socket,
      timeout,
    });
  } catch (error) {
    // The package's own error holds the password: only its text is looked at, and never passed on.
    const text = error instanceof Error ? error.message : '';
    if (/timed out/i.test(text)) throw silent(proxy, timeout);
    if (/authentication/i.test(text)) throw refused(proxy, 407);
    const [why = 'SOCKS failure'] =
      /\b(NotAllowed|NetworkUnreachable|HostUnreachable|ConnectionRefused|TTLExpired)\b/.exec(text) ?? [];
    throw proxyFailed(proxy, `did not connect (${why}): ${letsThrough}`);
  }
}

function proxyFailed(proxy: ProxyServer, what: string, code: RequestErrorCode = 'PROXY_FAILED'): RequestError {
  return new RequestError(code, `proxy ${proxy}: ${what}`);
}

function silent(proxy: ProxyServer, timeoutMs: number): RequestError {
  const what = `sent nothing for ${timeoutMs} ms: check whether it runs, and what it waits for`;
  return proxyFailed(proxy, what, 'PROXY_TIMEOUT');
}

const letsThrough = 'check whether it lets this host and port through';

/** What the code of an error says about a proxy; the first that fits. */
const causes: readonly (readonly [RegExp, string, string])[] = [
  [/^HPE_/, 'does not answer like an HTTP proxy', 'check whether the URL is right'],
  [
    /CERT|VERIFY|ISSUER|PURPOSE|INVALID_CA/,
    'its certificate is refused',
    'it must be for its own name, and from a root of this machine, of NODE_EXTRA_CA_CERTS, or from the authority of the cluster',
  ],
  [/^(?:ERR_SSL|EPROTO)/, 'TLS failed', 'check whether it is an https proxy'],
  [/./, 'cannot be reached', 'check that it runs and that the URL is right'],
];

function unreachable(proxy: ProxyServer, error: Error): RequestError {
  const code = 'code' in error ? String(error.code) : 'no connection';
  const [, what, advice] = causes.find(([pattern]) => pattern.test(code)) ?? [];
  return proxyFailed(proxy, `${what} (${code}): ${advice}`);
}

function refused(proxy: ProxyServer, statusCode: number): RequestError {
  if (statusCode !== 407) return proxyFailed(proxy, `refused the connection with ${statusCode}: ${letsThrough}`);
  const advice = proxy.login ? 'correct the user and password' : 'put a user and password';
  const what = `requires a login: ${advice} in HTTPS_PROXY, or in the kubeconfig's proxy-url`;
  return proxyFailed(proxy, what, 'PROXY_AUTH_REQUIRED');
}
