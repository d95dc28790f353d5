/** Host names and addresses of URLs. */
import { isIPv6 } from 'node:net';

/** Puts an IPv6 address into brackets, as URLs have it. */
export function bracket(hostname: string): string {
  return isIPv6(hostname) ? `[${hostname}]` : hostname;
}

/** Takes the brackets from an IPv6 address. */
export function unbracket(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Whether the host of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
