/**
 * A URL's host, port and path as Go's net/url reads them, so that images match as in the kubelet. The standard `URL` would change
 * case, default ports, dots and addresses, and other images would match. Texts are strings of bytes (`latin1`).
 */
import { isIPv6 } from 'node:net';

export interface GoUrl {
  /** Dot-separated parts of the host. */
  readonly parts: readonly string[];
  /** Empty if there is none. */
  readonly port: string;
  /** Percent-decoded, otherwise as it is: nothing is normalised. */
  readonly path: string;
}

/** Parses `https://` and the text, or says why Go would not. */
export function parseGoUrl(text: string): GoUrl | { readonly problem: string } {
  const bytes = toBytes(text);
  const hash = bytes.indexOf('#');
  const beforeFragment = hash < 0 ? bytes : bytes.slice(0, hash);
  if (/[^\x20-\x7e\x80-\xff]/.test(beforeFragment)) return { problem: 'holds a control character' };
  if (hash >= 0 && decode(bytes.slice(hash + 1)) === undefined) return badEscape;
  const question = beforeFragment.indexOf('?');
  const rest = question < 0 ? beforeFragment : beforeFragment.slice(0, question);
  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const at = authority.lastIndexOf('@');
  const host = readHost(authority.slice(at + 1));
  if (typeof host !== 'string') return host;
  if (at >= 0) {
    const user = authority.slice(0, at);
    if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) return { problem: 'has a user that cannot be one' };
    if (decode(user) === undefined) return badEscape;
  }
  const path = decode(slash < 0 ? '' : rest.slice(slash));
  return path === undefined ? badEscape : { ...splitHost(host), path };
}

/** A text as a string of its bytes, since Go compares texts by bytes. */
export function toBytes(text: string): string {
  return /^[ -~]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

const badEscape = { problem: 'has a % that is not followed by two hexadecimal digits' };

/** `undefined` for a % without two digits. */
function decode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** In a host only bytes beyond ASCII, and the percent sign itself, may be encoded. */
function decodeHost(text: string): string | undefined {
  if (/%(?!25)[0-7]/.test(text) || !/^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\x80-\xff]*$/.test(text)) return undefined;
  return decode(text);
}

function readHost(host: string): string | { readonly problem: string } {
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) return { problem: 'has a bracket inside of its host' };
  if (bracket === 0) return readAddress(host);
  const colon = host.indexOf(':');
  if (colon >= 0 && !/^:\d*$/.test(host.slice(colon))) return { problem: 'has a port that is not a number' };
  const decoded = decodeHost(host);
  return decoded ?? { problem: 'has a character that cannot stand in a host' };
}

function readAddress(host: string): string | { readonly problem: string } {
  const close = host.lastIndexOf(']');
  const port = host.slice(close + 1);
  if (close < 0) return { problem: 'has a bracket that is not closed' };
  if (!/^(:\d*)?$/.test(port)) return { problem: 'has a port that is not a number' };
  const inside = host.slice(1, close);
  const percent = inside.indexOf('%25');
  const zone = percent < 0 ? '' : inside.slice(percent);
  const address = decodeHost(percent < 0 ? inside : inside.slice(0, percent));
  const decodedZone = decodeZone(zone);
  // A zone has to have a name, and does not go with an embedded IPv4 address.
  const good = address !== undefined && decodedZone !== undefined && isIPv6(address) && !address.includes('%');
  if (!good || decodedZone === '%') return { problem: 'has no IPv6 address between its brackets' };
  if (decodedZone !== '' && /^(0*:)*:?ffff:/i.test(address) && address.includes('.')) {
    return { problem: 'has no IPv6 address between its brackets' };
  }
  return `[${address}${decodedZone}]${port}`;
}

function decodeZone(zone: string): string | undefined {
  const decoded = decode(zone);
  if (decoded === undefined) return undefined;
  const escapes = [...zone.matchAll(/%([0-9A-Fa-f]{2})/g)].map(([text, hex = '']) => [text, Number.parseInt(hex, 16)]);
  const allowed = escapes.every(
    ([text, code]) => text === '%25' || code === 0x20 || hostByte.test(String.fromCharCode(Number(code))),
  );
  return allowed && hostBytes.test(zone.replace(/%[0-9A-Fa-f]{2}/g, '')) ? decoded : undefined;
}

const hostByte = /^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]$/;
const hostBytes = /^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"\x80-\xff]*$/;

/** Go's net.SplitHostPort, and the whole host where that fails. */
function splitHost(host: string): { readonly parts: readonly string[]; readonly port: string } {
  const colon = host.lastIndexOf(':');
  let name = host;
  let port = '';
  if (host.startsWith('[')) {
    const close = host.indexOf(']');
    if (close + 1 === colon && !host.slice(1, close).includes('[') && !host.slice(close + 1).includes(']')) {
      name = host.slice(1, close);
      port = host.slice(colon + 1);
    }
  } else if (colon >= 0 && host.indexOf(':') === colon && !/[[\]]/.test(host)) {
    name = host.slice(0, colon);
    port = host.slice(colon + 1);
  }
  return { parts: name.split('.'), port };
}
