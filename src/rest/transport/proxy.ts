/** Which proxy leads to a server: its URL, and NO_PROXY. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { inspect } from 'node:util';
import { withoutSocks5h } from '../../access/cluster.ts';
import { RequestError } from '../../errors/index.ts';
import { bracket, unbracket } from '../../util/hosts.ts';

/** A proxy, with its login. Prints without the password. */
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

/**
 * Whether requests to a server go without a proxy: what NO_PROXY lists, and loopback always. As in Go, an entry is `*`, an address, a
 * CIDR, or a domain with its subdomains, each but a CIDR with an optional port.
 */
function isExempt(server: URL, noProxy: string): boolean {
  const host = unbracket(server.hostname);
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || isInNetwork(host, '127.0.0.0', 8) || isInNetwork(host, '::1', 128)) return true;
  return noProxy.split(',').some((entry) => covers(entry.trim().toLowerCase(), host, port));
}

/** Whether an entry of NO_PROXY is for a server. */
function covers(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const [, network = '', prefix = ''] = /^(.*)\/(\d+)$/.exec(entry) ?? [];
  if (isAddress(network) && Number(prefix) <= bitsOf(network)) return isInNetwork(host, network, Number(prefix));
  // A name or an IPv4 address with a port, an IPv6 address in brackets with one.
  const [, bracketed, name, onlyPort = ''] = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(entry) ?? [];
  const wanted = bracketed ?? name ?? unbracket(entry);
  if (wanted === '' || (onlyPort !== '' && onlyPort !== port)) return false;
  return isAddress(wanted) ? isInNetwork(host, wanted, bitsOf(wanted)) : isInDomain(host, wanted);
}

function isInDomain(host: string, name: string): boolean {
  const domain = name.replace(/^\*?\./, '');
  // A text that is not a domain, such as one with a space, is compared as written.
  const ascii = domainToASCII(domain) || domain;
  return !isAddress(host) && (host.endsWith(`.${ascii}`) || (domain === name && host === ascii));
}

/** An address of IPv4 may be written as one of IPv6 (`::ffff:10.0.0.1`). */
function isInNetwork(host: string, network: string, prefix: number): boolean {
  if (!isAddress(host)) return false;
  // As in Go, an IPv6 network holds IPv4 addresses only within ::ffff:0:0/96.
  if (isIPv6(network) && prefix < 96 && isInNetwork(host, '0.0.0.0', 0)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, familyOf(network));
  return list.check(host, familyOf(host));
}

/** Without a zone, which no URL has. */
function isAddress(text: string): boolean {
  return !text.includes('%') && isIP(text) > 0;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

function bitsOf(address: string): number {
  return isIPv6(address) ? 128 : 32;
}
