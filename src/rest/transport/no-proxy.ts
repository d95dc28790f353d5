/** NO_PROXY as Go reads it: `*`, addresses, CIDRs, domains with their subdomains, each but a CIDR with an optional port. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { unbracket } from '../../util/brackets.ts';

/** Whether requests to a server go without a proxy: what NO_PROXY lists, and loopback always. */
export function isExempt(server: URL, noProxy: string): boolean {
  const host = readHost(unbracket(server.hostname));
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  if (host.text === 'localhost' || loopback.some((matches) => matches(host, port))) return true;
  // The environment says the same for every config, and few entries are cheap to read.
  if (last.text !== noProxy) last = { text: noProxy, matchers: noProxy.split(',').flatMap(readEntry) };
  return last.matchers.some((matches) => matches(host, port));
}

interface Host {
  readonly text: string;
  /** An IPv4 address that is written as IPv6 is one of IPv4. */
  readonly address: string | undefined;
}

type Matcher = (host: Host, port: string) => boolean;

const loopback: readonly Matcher[] = [inNetwork('127.0.0.0', 8), inNetwork('::1', 128)];
let last: { readonly text: string; readonly matchers: readonly Matcher[] } = { text: '', matchers: [] };

function readHost(text: string): Host {
  return { text, address: isAddress(text) ? (mapped(text) ?? text) : undefined };
}

/** The matchers of an entry: none if it is empty. */
function readEntry(untrimmed: string): readonly Matcher[] {
  const entry = untrimmed.trim().toLowerCase();
  if (entry === '*') return [() => true];
  const [, network = '', prefix = ''] = /^(.*)\/(\d+)$/.exec(entry) ?? [];
  if (isAddress(network) && Number(prefix) <= bitsOf(network)) return [inNetwork(network, Number(prefix))];
  // A name or an IPv4 address with a port, an IPv6 address in brackets with one.
  const [, bracketed, name, onlyPort = ''] = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:[\]]*)$/.exec(entry) ?? [];
  const wanted = bracketed ?? name ?? unbracket(entry);
  if (wanted === '') return [];
  const matches = isAddress(wanted) ? inNetwork(wanted, bitsOf(wanted)) : inDomain(wanted);
  return [(host, port) => (onlyPort === '' || onlyPort === port) && matches(host, port)];
}

function inDomain(name: string): Matcher {
  const domain = name.replace(/^\*?\./, '');
  // A text that is not a domain, such as one with a space, is compared as written.
  const ascii = domainToASCII(domain) || domain;
  return ({ text, address }) =>
    address === undefined && (text.endsWith(`.${ascii}`) || (domain === name && text === ascii));
}

function inNetwork(network: string, prefix: number): Matcher {
  const inner = prefix >= 96 ? mapped(network) : undefined;
  const family = familyOf(inner ?? network);
  const list = new BlockList();
  list.addSubnet(inner ?? network, inner === undefined ? prefix : prefix - 96, family);
  return ({ address }) => address !== undefined && familyOf(address) === family && list.check(address, family);
}

/** The IPv4 address that an IPv6 address of `::ffff:0:0/96` stands for. */
function mapped(address: string): string | undefined {
  if (!isIPv6(address)) return undefined;
  const { hostname } = new URL(`http://[${address}]`);
  const halves = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname)?.slice(1) ?? [];
  if (halves.length === 0) return undefined;
  return halves
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >> 8, half & 255])
    .join('.');
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
