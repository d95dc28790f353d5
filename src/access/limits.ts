/**
 * Limits the size of a ClusterProfile: otherwise the author of one could keep the controller of all clusters busy. The limits are far
 * above what a cluster manager publishes.
 */
import type { ParsedCluster } from './cluster-profile.ts';
import type { Refuse } from './refusal.ts';

/** All extensions of a cluster together, in bytes of JSON. */
const maxExtensionBytes = 256 * 1024;
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
  if (jsonBytes(cluster.extensions) > maxExtensionBytes) {
    const message = `are more than ${maxExtensionBytes} bytes of JSON together: publish less, or a reference to it`;
    refuse('PROFILE_TOO_LARGE', `${at}.extensions`, message);
  }
}

/** A value that contains itself, or is nested deeper than the stack, is larger than any limit. */
function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
