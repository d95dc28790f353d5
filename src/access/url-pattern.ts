/** Matches the servers, proxies and paths that a profile may name. URLs are parsed and compared part by part, never as text. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { unbracket } from '../util/hosts.ts';

/** `https://*.example.com:6443/prefix` or `https://10.0.0.0/8`, parsed. */
export interface UrlPattern {
  /** As it was written. */
  readonly text: string;
  readonly protocol: string;
  /** Labels of the host; `*` stands for one whole label. */
  readonly labels: readonly string[];
  /** Instead of the labels: the addresses of a CIDR. */
  readonly network?: BlockList;
  readonly port: string;
  /** Segments that a path has to begin with. */
  readonly segments: Segments;
}

const defaultPorts: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'socks5:': '1080',
};

/** Parses a pattern, or returns its problem. */
export function parseUrlPattern(text: string, protocols: readonly string[]): UrlPattern | { readonly problem: string } {
  if (text.includes(',')) return { problem: 'holds a comma: make each URL an entry of its own' };
  const parts = partsOf(text);
  if (!parts) {
    const forms = 'https://*.example.com or https://10.0.0.0/24';
    return { problem: `must be a URL such as ${forms}, without user, query or encoded slashes` };
  }
  const { protocol, labels, port, path } = parts;
  if (!protocols.includes(protocol)) {
    return { problem: `must begin with ${protocols.map((known) => `${known}//`).join(' or ')}` };
  }
  // Such a pattern would match no address, and no name either. A name may have numbers in it: `*.10.0.0.1.nip.io`.
  const isNumeric = labels.some(isNumber) && labels.every((label) => label === '*' || isNumber(label));
  if (labels.includes('*') && (isNumeric || isAddress(labels))) {
    return { problem: 'has a * in an address: write the addresses as a CIDR, such as https://10.0.0.0/24' };
  }
  if (labels.some((label) => label !== '*' && label.includes('*'))) {
    return { problem: 'has a * inside of a label: it stands for one whole label of the host' };
  }
  const segments = path.split('/').slice(1);
  const pattern = { text, protocol, labels, port, segments };
  return isAddress(labels) && /^\d+(?::\d+)?$/.test(segments[0] ?? '') ? readNetwork(pattern) : pattern;
}

/** Names of a TLS server: the pattern's host without scheme, port and path. */
export function parseHostPattern(text: string): UrlPattern | { readonly problem: string } {
  const problem = 'must be a host name, a * standing for one whole label, without scheme, port or path';
  if (/[/:@?#\\\s]/.test(text)) return { problem };
  const pattern = parseUrlPattern(`https://${text}`, ['https:']);
  if ('problem' in pattern) return pattern.problem.startsWith('must be a URL') ? { problem } : pattern;
  return { ...pattern, text };
}

/** Whether a URL matches one of the patterns. */
export function matchesAny(patterns: readonly UrlPattern[], url: string): boolean {
  return matching(patterns, url).length > 0;
}

/** Whether a TLS server name is the URL's own host, or matches one of the patterns. */
export function isServerName(name: string, url: string, patterns: readonly UrlPattern[]): boolean {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.');
  const own = partsOf(url)?.labels.join('.');
  return labels.join('.') === own || patterns.some((pattern) => matchesHost(pattern, labels));
}

/**
 * The paths below which all requests to a server have to stay: those of the patterns that allow it. `undefined` if there is no
 * restriction.
 */
export function pathBounds(
  patterns: readonly UrlPattern[] | undefined,
  server: string,
): readonly Segments[] | undefined {
  if (!patterns) return undefined;
  const bounds = matching(patterns, server).map(({ segments }) => segments);
  return bounds.some((segments) => segments.length === 0) ? undefined : bounds;
}

interface Parts extends Pick<UrlPattern, 'protocol' | 'labels' | 'port'> {
  /** Empty, or with a slash at its beginning and none at its end. */
  readonly path: string;
}

function matching(patterns: readonly UrlPattern[], url: string): readonly UrlPattern[] {
  const parts = partsOf(url);
  return parts === undefined ? [] : patterns.filter((pattern) => matches(pattern, parts));
}

function matches(pattern: UrlPattern, { protocol, labels, port, path }: Parts): boolean {
  return (
    pattern.protocol === protocol &&
    pattern.port === port &&
    matchesHost(pattern, labels) &&
    (pattern.segments.length === 0 || staysBelow([pattern.segments], path))
  );
}

function matchesHost({ labels, network }: UrlPattern, host: readonly string[]): boolean {
  if (network) {
    const address = unbracket(host.join('.'));
    return isIP(address) > 0 && network.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return (
    host.length === labels.length &&
    labels.every((label, index) => label === host[index] || (label === '*' && !isAddress(host)))
  );
}

/** `https://10.0.0.0/8`: the first segment of an address's path is the length of a prefix. A port may follow it. */
function readNetwork(pattern: UrlPattern): UrlPattern | { readonly problem: string } {
  const { text, labels, segments } = pattern;
  const [first = '', ...path] = segments;
  const [length = '', port] = first.split(':');
  const address = unbracket(labels.join('.'));
  const bits = isIPv6(address) ? 128 : 32;
  if (isIP(address) === 0 || Number(length) > bits || String(Number(length)) !== length) {
    return { problem: `is not a CIDR: the prefix of ${address} is a number from 0 to ${bits}` };
  }
  if (port !== undefined && new URL(text).port !== '') return { problem: 'has two ports: keep one' };
  if (Number(port ?? 0) > 65_535) return { problem: `has the port ${port}, and 65535 is the highest` };
  const network = new BlockList();
  network.addSubnet(address, Number(length), isIPv6(address) ? 'ipv6' : 'ipv4');
  return { ...pattern, network, segments: path, port: port === undefined ? pattern.port : String(Number(port)) };
}

/** An address, or what some programs take for one: a host whose last label is a number. */
function isAddress(labels: readonly string[]): boolean {
  return isNumber(labels.at(-1) ?? '') || (labels[0] ?? '').startsWith('[');
}

function isNumber(label: string): boolean {
  return /^(?:\d+|0x[\da-f]*)$/i.test(label);
}

/** `undefined` for a URL that cannot be compared: invalid, with a user or query, or with a path whose encoding could hide a segment. */
function partsOf(text: string): Parts | undefined {
  const url = URL.parse(text);
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '') return undefined;
  if (/[?#\\\s\p{Cc}]/u.test(text) || /%(?:2[ef]|5c)/i.test(text)) return undefined;
  // The URL standard does not normalise the host of an unknown scheme.
  const hostname = url.hostname.toLowerCase().replace(/\.$/, '');
  const labels = hostname.startsWith('[') ? [hostname] : hostname.split('.');
  if (labels.includes('')) return undefined;
  const { protocol, port, pathname } = url;
  return { protocol, labels, port: port || (defaultPorts[protocol] ?? ''), path: withoutLastSlashes(pathname) };
}

/** Looks at the first of many slashes alone: to try each of them would take long. */
export function withoutLastSlashes(text: string): string {
  return text.replace(/(?<!\/)\/+$/, '');
}

/** Matches whole texts with a pattern in which a `*` stands for any characters. A hostile text takes no longer for many stars. */
export function createGlob(pattern: string): (text: string) => boolean {
  if (!pattern.includes('*')) return (text) => text === pattern;
  const [first = '', ...between] = pattern.split('*');
  const last = between.pop() ?? '';
  return (text) => {
    const end = text.length - last.length;
    if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false;
    // The earliest match of each word leaves most of the text to the next ones, so no backtracking is needed.
    let at = first.length;
    for (const word of between) {
      const found = text.indexOf(word, at);
      if (found < 0 || found + word.length > end) return false;
      at = found + word.length;
    }
    return true;
  };
}

/** Segments that a path has to begin with, as written. */
export type Segments = readonly string[];

/** How often a path may have been percent-encoded. */
const maxEncodings = 3;

/**
 * Whether a path (with its query, if any) equals a bound, or is below it. It has to begin with the exact segments, and nothing after
 * them may lead out again: no dots, encoded once or more often, no backslash for a slash, no double slash.
 */
export function staysBelow(bounds: readonly Segments[], path: string): boolean {
  const [target = ''] = path.split('?', 1);
  const [beginning, ...segments] = target.split('/');
  return beginning === '' && bounds.some((bound) => isBelow(bound, segments));
}

function isBelow(bound: Segments, segments: Segments): boolean {
  if (bound.length === 0) return true;
  if (!bound.every((segment, index) => segment === segments[index])) return false;
  const rest = decoded(segments.slice(bound.length).join('/'));
  if (rest === undefined) return false;
  let depth = 0;
  for (const segment of rest.split(/[/\\]/)) {
    // Some servers cut off what follows a semicolon, or a query that appears only after decoding, and skip blanks.
    const [name = ''] = segment.replace(/[\s\p{Cc}]/gu, '').split(/[;?#]/, 1);
    if (name === '..') depth -= 1;
    else if (name !== '' && name !== '.') depth += 1;
    if (depth < 0) return false;
  }
  return true;
}

/** `undefined` if the path is encoded too often, or in a way that only hides its content. */
function decoded(text: string): string | undefined {
  let current = text;
  for (let times = 0; times <= maxEncodings; times++) {
    // No character of UTF-8 begins with these bytes; old decoders make dots and slashes of them.
    if (/%c[01]/i.test(current)) return undefined;
    const next = current.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (next === current) return current;
    current = next;
  }
  return undefined;
}
