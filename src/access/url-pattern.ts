/** Which servers and proxies a profile may name: URLs are parsed and compared part by part, never as text. */
import { isIP } from 'node:net';

/** `https://*.example.com:6443/prefix`, parsed. */
export interface UrlPattern {
  /** As it was written. */
  readonly text: string;
  readonly protocol: string;
  /** Labels of the host; `*` stands for one whole label. */
  readonly labels: readonly string[];
  readonly port: string;
  /** Segments that a path has to begin with. */
  readonly segments: readonly string[];
}

const defaultPorts: Readonly<Record<string, string>> = {
  'http:': '80',
  'https:': '443',
  'socks5:': '1080',
};

/** Parses a pattern, or says what is wrong with it. */
export function parseUrlPattern(text: string, protocols: readonly string[]): UrlPattern | { readonly problem: string } {
  const parts = partsOf(text);
  if (!parts) return { problem: 'must be a URL such as https://*.example.com, without user, query or encoded slashes' };
  const { protocol, labels } = parts;
  if (!protocols.includes(protocol)) {
    return { problem: `must begin with ${protocols.map((known) => `${known}//`).join(' or ')}` };
  }
  if (labels.some((label) => label !== '*' && label.includes('*'))) {
    return { problem: 'has a * inside of a label: it stands for one whole label of the host' };
  }
  return { text, ...parts };
}

/** Whether a URL is one of those that the patterns describe. */
export function matchesAny(patterns: readonly UrlPattern[], url: string): boolean {
  const parts = partsOf(url);
  return parts !== undefined && patterns.some((pattern) => matches(pattern, parts));
}

type Parts = Omit<UrlPattern, 'text'>;

function matches(pattern: UrlPattern, url: Parts): boolean {
  const { protocol, labels, port, segments } = pattern;
  return (
    url.protocol === protocol &&
    url.port === port &&
    url.labels.length === labels.length &&
    labels.every((label, index) => label === url.labels[index] || (label === '*' && !isAddress(url.labels))) &&
    segments.every((segment, index) => segment === url.segments[index])
  );
}

function isAddress(labels: readonly string[]): boolean {
  return labels.length === 1 ? (labels[0] ?? '').startsWith('[') : isIP(labels.join('.')) > 0;
}

/** `undefined` for what cannot be compared: no URL, a user, a query, or a path whose encoding could hide a segment. */
function partsOf(text: string): Parts | undefined {
  const url = URL.parse(text);
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '') return undefined;
  if (/[?#\\\s\p{Cc}]/u.test(text) || /%(?:2[ef]|5c)/i.test(text)) return undefined;
  // A scheme that the URL standard does not know keeps its host as it was written.
  const hostname = url.hostname.toLowerCase().replace(/\.$/, '');
  const labels = hostname.startsWith('[') ? [hostname] : hostname.split('.');
  if (labels.includes('')) return undefined;
  const path = withoutLastSlashes(url.pathname);
  return {
    protocol: url.protocol,
    labels,
    port: url.port || (defaultPorts[url.protocol] ?? ''),
    segments: path === '' ? [] : path.slice(1).split('/'),
  };
}

/** A regular expression that is not bound to the beginning would try at each of many slashes anew. */
export function withoutLastSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}
