import { once } from 'node:events';
import { connect as connectTcp, isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { RequestError } from '../../errors/index.ts';
import type { ProxyServer } from './proxy.ts';

/** An import of it would load Node's own `fetch` and WebSocket with it, which takes longer than the start of Node. */
const { request: httpRequest } = process.getBuiltinModule('node:http');

/** Milliseconds until an idle socket is probed. libuv then sends ten probes, a second apart, before it closes the socket. */
export const keepAliveInitialDelay = 15_000;

export interface TunnelOptions {
  /** Milliseconds until a proxy that says nothing is given up. */
  readonly timeoutMs: number;
  /** Whom to trust to be an https proxy. Asked for only if it is one. */
  readonly secureContext: () => SecureContext;
  /** Aborted: the proxy is left. */
  readonly signal: AbortSignal;
}

/** Opens a connection to `hostname:port` through a proxy. Rejects with a `RequestError` that never holds the login. */
export async function openTunnel(
  proxy: ProxyServer,
  hostname: string,
  port: number,
  { timeoutMs, secureContext, signal }: TunnelOptions,
): Promise<Socket> {
  if (signal.aborted) throw connectionGivenUp();
  const socket = connectTo(proxy, secureContext);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  // Stays for good: there is no other listener until the caller has the socket.
  socket.on('error', (error) => reject(unreachable(proxy, error)));
  const timer = setTimeout(() => reject(silent(proxy, timeoutMs)), timeoutMs);
  const onAbort = () => reject(connectionGivenUp());
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // Nothing is said before an https proxy has proved who it is: a login least of all.
    const ready = once(socket, proxy.protocol === 'https:' ? 'secureConnect' : 'connect');
    await Promise.race([ready, failed]);
    // Not an option of connect: Node 22 does not look at it for TLS.
    socket.setKeepAlive(true, keepAliveInitialDelay);
    const ask = proxy.protocol === 'socks5:' ? askSocks : askHttp;
    return await Promise.race([ask(proxy, socket, hostname, port, timeoutMs), failed]);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** An https proxy has to prove its own name, whichever server it leads to. */
function connectTo({ protocol, hostname: host, port }: ProxyServer, secureContext: () => SecureContext): Socket {
  if (protocol !== 'https:') return connectTcp({ host, port });
  const servername = isIP(host) > 0 ? '' : host;
  return connectTls({ host, port, servername, secureContext: secureContext(), ALPNProtocols: ['http/1.1'] });
}

function askHttp(proxy: ProxyServer, socket: Socket, hostname: string, port: number): Promise<Socket> {
  const { login } = proxy;
  const target = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`;
  const authorization = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const request = httpRequest({
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...(authorization ? { 'proxy-authorization': authorization } : {}) },
    createConnection: () => socket,
  });
  request.on('connect', ({ statusCode = 0 }, _socket, head) => {
    if (head.length > 0) socket.unshift(head);
    if (statusCode >= 200 && statusCode < 300) resolve(socket);
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
  hostname: string,
  port: number,
  timeout: number,
): Promise<Socket> {
  const { login } = proxy;
  const texts = { 'host name': hostname, user: login?.username ?? '', password: login?.password ?? '' };
  for (const [what, text] of Object.entries(texts)) {
    if (Buffer.byteLength(text) <= longestSocksText) continue;
    const advice = what === 'host name' ? 'correct the server' : 'correct HTTPS_PROXY';
    throw new RequestError(
      'PROXY_FAILED',
      `proxy ${proxy}: SOCKS5 takes a ${what} of ${longestSocksText} bytes at most: ${advice}`,
    );
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
      destination: { host: hostname, port },
      existing_socket: socket,
      timeout,
    });
    return socket;
  } catch (error) {
    // The package's own error holds the password: only its text is looked at, and never passed on.
    const text = error instanceof Error ? error.message : '';
    if (/timed out/i.test(text)) throw silent(proxy, timeout);
    if (/authentication/i.test(text)) throw refused(proxy, 407);
    const why = /\b(NotAllowed|NetworkUnreachable|HostUnreachable|ConnectionRefused|TTLExpired)\b/.exec(text)?.[0];
    throw new RequestError(
      'PROXY_FAILED',
      `proxy ${proxy}: did not connect (${why ?? 'SOCKS failure'}): check whether it lets this host and port through`,
    );
  }
}

export function connectionGivenUp(): RequestError {
  return new RequestError('CONFIG_CLOSED', 'the connection was given up: its config has been closed');
}

function silent(proxy: ProxyServer, timeoutMs: number): RequestError {
  return new RequestError(
    'PROXY_TIMEOUT',
    `proxy ${proxy}: sent nothing for ${timeoutMs} ms: check whether it runs, and what it waits for`,
  );
}

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
  return new RequestError('PROXY_FAILED', `proxy ${proxy}: ${what} (${code}): ${advice}`);
}

function refused(proxy: ProxyServer, statusCode: number): RequestError {
  if (statusCode !== 407)
    return new RequestError(
      'PROXY_FAILED',
      `proxy ${proxy}: refused the connection with ${statusCode}: check whether it lets this host and port through`,
    );
  const advice = proxy.login ? 'correct the user and password' : 'put a user and password';
  return new RequestError(
    'PROXY_AUTH_REQUIRED',
    `proxy ${proxy}: requires a login: ${advice} in HTTPS_PROXY, or in the kubeconfig's proxy-url`,
  );
}
