/** Hashes that are the same on every machine and in every release: replicas of two releases have to agree. */

/** Every bit of the input changes half of the bits of the output (the finalizer of MurmurHash3). */
export function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A text as 32 bits (FNV-1a over its UTF-16 units, and mixed). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** How many shards a fleet has. Replicas that count on different numbers would work on the same clusters: it never changes. */
export const shardCount = 64;

/** The shard of a cluster, by what `identify` says of it. */
export function shardOf(key: string, shards: number): number {
  return hashOf(key) % shards;
}
