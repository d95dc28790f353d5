/**
 * Limits the size of a ClusterProfile: otherwise the author of one could keep the controller of all clusters busy. The limits are far
 * above what a cluster manager publishes.
 */
import type { ParsedCluster } from './cluster-profile.ts';
import { maxDepth } from './json.ts';
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

/** Refuses a cluster larger than any cluster manager would publish. Reads no more of it than the limits. */
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
  if (spend(maxExtensionBytes, cluster.extensions) < 0) {
    const message =
      `are more than ${maxExtensionBytes} bytes of JSON together, or nested deeper than ${maxDepth} levels: ` +
      'publish less, or a reference to it';
    refuse('PROFILE_TOO_LARGE', `${at}.extensions`, message);
  }
}

/** Refuses too many extensions, before they are parsed. */
export function checkExtensionCount(cluster: unknown, at: string, refuse: Refuse): void {
  const extensions: unknown = Object(cluster).extensions;
  if (Array.isArray(extensions)) checkCount(extensions.length, 'extensions', `${at}.extensions`, refuse);
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

/**
 * Subtracts the size of a value as JSON, escapes not counted, from `bytes`; the result is below 0 if it is too large. A value that is
 * nested too deeply, or contains itself, is too large.
 */
function spend(left: number, value: unknown, depth = 0): number {
  if (typeof value === 'string') return left - Buffer.byteLength(value) - 2;
  if (typeof value !== 'object' || value === null) return left - String(value).length;
  let rest = left - 2;
  if (depth > maxDepth) return -1;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (rest < 0) break;
      rest = spend(rest - 1, item, depth + 1);
    }
    return rest;
  }
  for (const [key, item] of Object.entries(value)) {
    if (rest < 0) break;
    rest = spend(rest - Buffer.byteLength(key) - 4, item, depth + 1);
  }
  return rest;
}
