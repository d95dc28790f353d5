/** NO_PROXY as Go reads it: `*`, addresses, CIDRs, domains with their subdomains, each but a CIDR with an optional port. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/** Whether requests to a server go without a proxy: what NO_PROXY lists, and loopback always. */
export function isExempt(server: URL, noProxy: string): boolean {
  const host = unbracket(server.hostname);
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || loopback.some((matches) => matches(host, port))) return true;
  return noProxy.split(',').some((entry) => readEntry(entry)?.(host, port));
}

/** Takes the brackets from an IPv6 address. */
export function unbracket(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

type Matcher = (host: string, port: string) => boolean;

const loopback: readonly Matcher[] = [inNetwork('127.0.0.0', 8), inNetwork('::1', 128)];

/** What an entry matches; an empty one is none. */
function readEntry(untrimmed: string): Matcher | undefined {
  const entry = untrimmed.trim().toLowerCase();
  if (entry === '*') return () => true;
  const [, network = '', prefix = ''] = /^(.*)\/(\d+)$/.exec(entry) ?? [];
  if (isAddress(network) && Number(prefix) <= bitsOf(network)) return inNetwork(network, Number(prefix));
  // A name or an IPv4 address with a port, an IPv6 address in brackets with one.
  const [, bracketed, name, onlyPort = ''] = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(entry) ?? [];
  const wanted = bracketed ?? name ?? unbracket(entry);
  if (wanted === '') return undefined;
  const matches = isAddress(wanted) ? inNetwork(wanted, bitsOf(wanted)) : inDomain(wanted);
  return (host, port) => (onlyPort === '' || onlyPort === port) && matches(host, port);
}

function inDomain(name: string): Matcher {
  const domain = name.replace(/^\*?\./, '');
  // What is no domain, such as a text with a space, is compared as it is written.
  const ascii = domainToASCII(domain) || domain;
  return (host) => !isAddress(host) && (host.endsWith(`.${ascii}`) || (domain === name && host === ascii));
}

/** An IPv4 address that is written as IPv6 is in IPv4 networks, and one that is not is in no IPv6 network. */
function inNetwork(network: string, prefix: number): Matcher {
  const list = new BlockList();
  list.addSubnet(network, prefix, familyOf(network));
  return (host) => isAddress(host) && (isIPv6(host) || !isIPv6(network)) && list.check(host, familyOf(host));
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
