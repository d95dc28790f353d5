/**
 * How much a ClusterProfile may say. Whoever may write one could otherwise keep the controller of all clusters busy; these
 * are far above what a cluster manager publishes.
 */
import type { ParsedCluster } from './cluster-profile.ts';
import { maxDepth } from './json.ts';
import type { Refuse } from './refusal.ts';

/** All extensions of a cluster together, in bytes of JSON. */
const maxExtensionBytes = 256 * 1024;
/** Arguments, variables, or extensions. */
const maxItems = 1_000;
/** An argument, or a variable with its name, in bytes with the NUL at its end: the kernel takes no more. */
const maxItemBytes = 128 * 1024;
/** A URL. No proxy or gateway takes a longer one. */
const maxUrlBytes = 4 * 1024;
/** A host name (RFC 1035). */
const maxHostBytes = 253;

/** What a profile asked for and did not get: so many are told one by one. */
export const maxIgnored = 100;
/** The longest path of one of these, and the longest reason. */
export const maxIgnoredBytes = 512;

/** Refuses a cluster that says more than any cluster manager would. Looks at no more of it than the limits. */
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

/** Refuses more extensions than anybody reads; before they are parsed. */
export function checkExtensionCount(cluster: unknown, at: string, refuse: Refuse): void {
  const extensions: unknown = Object(cluster).extensions;
  if (Array.isArray(extensions)) checkCount(extensions.length, 'extensions', `${at}.extensions`, refuse);
}

/** Refuses more arguments or variables than any plugin needs. */
export function checkCount(count: number, what: string, path: string, refuse: Refuse): void {
  if (count > maxItems)
    refuse('PROFILE_TOO_LARGE', path, `holds ${count} ${what}, and ${maxItems} may be there at most`);
}

/** Refuses an argument, or a variable as `name=value`, that no process could be given. */
export function checkItem(item: string, path: string, refuse: Refuse): void {
  const size = Buffer.byteLength(item) + 1;
  if (size > maxItemBytes)
    refuse('PROFILE_TOO_LARGE', path, `has ${size} bytes, over the ${maxItemBytes} that a process can be given`);
}

/**
 * What is left of a number of bytes after a value as JSON, escapes not counted; below 0 as soon as it is too much. What is
 * nested deeper than any JSON here may be is too much, and with it a value that holds itself.
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
