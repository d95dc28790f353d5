import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { RequestError } from '../errors.ts';
import type { ProxyServer } from './proxy.ts';

export interface TunnelOptions {
  /** Milliseconds until a proxy that says nothing is given up. */
  readonly timeoutMs: number;
  /** PEM; an https proxy may have a certificate of the cluster's authority, as in Go. */
  readonly certificateAuthority?: string | undefined;
}

/** Opens a connection to `hostname:port` through a proxy. Rejects with a `RequestError` that never holds the login. */
export async function openTunnel(
  proxy: ProxyServer,
  hostname: string,
  port: number,
  options: TunnelOptions,
): Promise<Socket> {
  return proxy.protocol === 'socks5:'
    ? openSocks(proxy, hostname, port, options)
    : openConnect(proxy, hostname, port, options);
}

function openConnect(proxy: ProxyServer, hostname: string, port: number, options: TunnelOptions): Promise<Socket> {
  const { login } = proxy;
  const target = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`;
  const authorization = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const { promise, resolve, reject } = withResolvers<Socket>();
  const settings = {
    method: 'CONNECT',
    host: proxy.hostname,
    port: proxy.port,
    path: target,
    headers: { host: target, ...(authorization ? { 'proxy-authorization': authorization } : {}) },
    agent: false,
  };
  const { certificateAuthority } = options;
  const request =
    proxy.protocol === 'https:'
      ? httpsRequest({
          ...settings,
          ...(certificateAuthority ? { ca: [...rootCertificates, certificateAuthority] } : {}),
        })
      : httpRequest(settings);
  const timer = setTimeout(() => {
    reject(silent(proxy, options.timeoutMs));
    request.destroy();
  }, options.timeoutMs);
  request.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    clearTimeout(timer);
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
      return;
    }
    socket.destroy();
    reject(refused(proxy, statusCode));
  });
  request.on('error', (error) => {
    clearTimeout(timer);
    const code = 'code' in error ? String(error.code) : 'no connection';
    reject(
      new RequestError(
        'PROXY_FAILED',
        `proxy ${proxy}: cannot be reached (${code}): see whether it runs and the URL is right`,
      ),
    );
  });
  request.end();
  return promise;
}

async function openSocks(
  proxy: ProxyServer,
  hostname: string,
  port: number,
  { timeoutMs }: TunnelOptions,
): Promise<Socket> {
  const { login } = proxy;
  const { SocksClient } = await import('socks');
  try {
    const { socket } = await SocksClient.createConnection({
      proxy: {
        host: proxy.hostname,
        port: proxy.port,
        type: 5,
        ...(login ? { userId: login.username, password: login.password } : {}),
      },
      command: 'connect',
      destination: { host: hostname, port },
      timeout: timeoutMs,
    });
    return socket;
  } catch (error) {
    // The package's own error holds the password: only its text is looked at, and never passed on.
    const text = error instanceof Error ? error.message : '';
    if (/timed out/i.test(text)) throw silent(proxy, timeoutMs);
    if (/authentication/i.test(text)) throw refused(proxy, 407);
    const why =
      /\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EHOSTUNREACH|NotAllowed|HostUnreachable|ConnectionRefused)\b/.exec(
        text,
      )?.[0];
    throw new RequestError('PROXY_FAILED', `proxy ${proxy}: gave no connection (${why ?? 'SOCKS failure'})`);
  }
}

function silent(proxy: ProxyServer, timeoutMs: number): RequestError {
  return new RequestError('PROXY_TIMEOUT', `proxy ${proxy}: said nothing for ${timeoutMs} ms`);
}

function refused(proxy: ProxyServer, statusCode: number): RequestError {
  if (statusCode !== 407)
    return new RequestError('PROXY_FAILED', `proxy ${proxy}: refused the connection with ${statusCode}`);
  const advice = proxy.login ? 'correct the user and password' : 'put a user and password';
  return new RequestError(
    'PROXY_AUTH_REQUIRED',
    `proxy ${proxy}: asks for a login: ${advice} in HTTPS_PROXY, or in the kubeconfig's proxy-url`,
  );
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}
