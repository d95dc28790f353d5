import { inspect } from 'node:util';
import { withoutSocks5h } from '../../access/cluster.ts';
import { RequestError } from '../../errors/index.ts';
import { bracket, unbracket } from '../../util/brackets.ts';
import { isExempt } from './no-proxy.ts';

/** A proxy, with what it takes to log in. Prints without the password. */
export class ProxyServer {
  readonly protocol: 'http:' | 'https:' | 'socks5:';
  readonly hostname: string;
  readonly port: number;
  readonly #username: string;
  readonly #password: string;

  constructor(url: URL) {
    this.protocol = url.protocol as ProxyServer['protocol']; // parseProxy has checked it
    this.hostname = unbracket(url.hostname);
    this.port = Number(url.port) || { 'http:': 80, 'https:': 443, 'socks5:': 1080 }[this.protocol];
    this.#username = decodeURIComponent(url.username);
    this.#password = decodeURIComponent(url.password);
  }

  get login(): { readonly username: string; readonly password: string } | undefined {
    if (this.#username === '' && this.#password === '') return undefined;
    return { username: this.#username, password: this.#password };
  }

  [inspect.custom](): string {
    return this.toString();
  }

  /** For messages: never the password. */
  toString(): string {
    return `${this.protocol}//${bracket(this.hostname)}:${this.port}`;
  }
}

/** The text of the proxy URL for a server: the profile's own, or what the environment says; `undefined` for none. */
export function proxyUrlFor(
  server: URL,
  proxyUrl: string | undefined,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  if (proxyUrl !== undefined) return proxyUrl;
  const variable = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const found = environment[variable] || environment[variable.toLowerCase()];
  if (!found) return undefined;
  return isExempt(server, environment.NO_PROXY || environment.no_proxy || '') ? undefined : found;
}

/** Reads a proxy URL. As in Go, one without a scheme means http. */
export function parseProxy(written: string): ProxyServer {
  const text = withoutSocks5h(written);
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : URL.parse(`http://${text}`);
  if (url && url.hostname !== '' && ['http:', 'https:', 'socks5:'].includes(url.protocol)) {
    try {
      return new ProxyServer(url);
    } catch {
      // A login with a % that encodes nothing.
    }
  }
  // Not quoted: it may hold a password.
  throw new RequestError(
    'PROXY_INVALID',
    'the proxy is not an http, https, socks5 or socks5h URL: correct proxy-url, HTTPS_PROXY or HTTP_PROXY',
  );
}
