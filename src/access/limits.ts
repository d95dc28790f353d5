/**
 * Limits the size of a ClusterProfile: otherwise the author of one could keep the controller of all clusters busy. The limits are far
 * above what a cluster manager publishes.
 */
import type { ParsedCluster } from './cluster-profile.ts';
import type { Refuse } from './refusal.ts';

/** All extensions of a cluster together, in bytes of JSON. */
const maxExtensionBytes = 256 * 1024;
/** Arguments, variables, or extensions. */
const maxItems = 1_000;
/** An argument, or a variable with its name, in bytes including the final NUL: the kernel's limit. */
const maxItemBytes = 128 * 1024;
/** A URL. Proxies and gateways refuse longer ones. */
const maxUrlBytes = 4 * 1024;
/** A host name (RFC 1035). */
const maxHostBytes = 253;

/** The most ignored fields of a profile that are listed. */
export const maxIgnored = 100;
/** The longest path of one of these, and the longest reason. */
export const maxIgnoredBytes = 512;

/** Refuses a cluster larger than any cluster manager would publish. */
export function checkSize(cluster: ParsedCluster, at: string, refuse: Refuse): void {
  const tooLong = (field: string, limit: number) =>
    refuse('PROFILE_TOO_LARGE', `${at}.${field}`, `is longer than ${limit} bytes: shorten it`);
  const texts = [
    ['server', maxUrlBytes],
    ['proxy-url', maxUrlBytes],
    ['tls-server-name', maxHostBytes],
  ] as const;
  for (const [field, limit] of texts) {
    if (Buffer.byteLength(cluster[field] ?? '') > limit) tooLong(field, limit);
  }
  checkCount(cluster.extensions.length, 'extensions', `${at}.extensions`, refuse);
  if (jsonBytes(cluster.extensions) > maxExtensionBytes) {
    const message = `are more than ${maxExtensionBytes} bytes of JSON together: publish less, or a reference to it`;
    refuse('PROFILE_TOO_LARGE', `${at}.extensions`, message);
  }
}

/** Refuses more arguments or variables than any plugin needs. */
export function checkCount(count: number, what: string, path: string, refuse: Refuse): void {
  if (count > maxItems)
    refuse('PROFILE_TOO_LARGE', path, `holds ${count} ${what}, and ${maxItems} may be there at most`);
}

/** Refuses an argument, or a variable as `name=value`, that no process can receive. */
export function checkItem(item: string, path: string, refuse: Refuse): void {
  const size = Buffer.byteLength(item) + 1;
  if (size > maxItemBytes)
    refuse('PROFILE_TOO_LARGE', path, `has ${size} bytes, over the ${maxItemBytes} that a process can be given`);
}

/** A value that contains itself, or is nested deeper than the stack, is larger than any limit. */
function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
