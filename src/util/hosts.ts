/** Names: of hosts, and of objects of Kubernetes. */
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

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** The name of a namespace, for example: a to z, digits and `-`, 63 characters at most. */
export const isLabel = (text: string): boolean => label.test(text);

/** The name of a Lease, a Secret or a ClusterProfile, for example: parts like labels with dots between, 253 characters at most. */
export const isSubdomain = (text: string): boolean => text.length <= 253 && subdomain.test(text);
