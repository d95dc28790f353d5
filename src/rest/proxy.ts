import { BlockList, isIP, isIPv6 } from 'node:net';
import { inspect } from 'node:util';
import { RequestError } from '../errors.ts';

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
    return `${this.protocol}//${isIPv6(this.hostname) ? `[${this.hostname}]` : this.hostname}:${this.port}`;
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
export function parseProxy(text: string): ProxyServer {
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
    'the proxy is not an http, https or socks5 URL: correct proxy-url, HTTPS_PROXY or HTTP_PROXY',
  );
}

/** Go's reading of NO_PROXY: `*`, addresses, CIDRs, domains with their subdomains, each with an optional port. */
function isExempt(server: URL, noProxy: string): boolean {
  const host = unbracket(server.hostname).toLowerCase();
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || (isIP(host) > 0 && loopback.check(host, family(host)))) return true;
  return noProxy.split(',').some((entry) => matches(entry.trim().toLowerCase(), host, port));
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  const cidr = /^([0-9a-f.:]+)\/(\d+)$/.exec(entry);
  if (cidr) return isIP(host) > 0 && inSubnet(host, cidr[1] ?? '', Number(cidr[2]));
  const [, name = '', onlyPort] = isIPv6(entry) ? ['', entry] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
  if (onlyPort !== undefined && onlyPort !== port) return false;
  const plain = unbracket(name);
  if (isIP(plain) > 0) return plain === host;
  const domain = plain.replace(/^\*\./, '.');
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function inSubnet(host: string, network: string, prefix: number): boolean {
  if (isIP(network) === 0 || prefix > (isIPv6(network) ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, family(network));
  return list.check(host, family(host));
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

export function unbracket(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
