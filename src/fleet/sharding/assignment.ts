/**
 * Which shard a cluster belongs to, and which replica works on a shard: rendezvous hashing, with equal shares. Pure: all replicas compute the
 * same from what they see, and do not talk to each other. So it must not change from release to release.
 */

/**
 * By shard, the identity of its replica; `undefined` if there are no replicas. Shares differ by one shard at most. When a
 * replica comes or goes, little else moves than its own share.
 */
export function assignShards(identities: readonly string[], shards: number): readonly (string | undefined)[] {
  const replicas = identities.map((identity) => ({ identity, hash: hashOf(identity), left: 0 }));
  replicas.sort((a, b) => a.hash - b.hash || (a.identity < b.identity ? -1 : 1));
  for (const [index, replica] of replicas.entries())
    replica.left = Math.floor(shards / replicas.length) + (index < shards % replicas.length ? 1 : 0);
  const pairs = replicas.flatMap((replica) =>
    Array.from({ length: shards }, (_, shard) => ({ replica, shard, score: scoreOf(replica.hash, shard) })),
  );
  // The pairs that fit best come first.
  pairs.sort((a, b) => b.score - a.score || a.shard - b.shard || (a.replica.identity < b.replica.identity ? -1 : 1));
  const owners = new Array<string | undefined>(shards).fill(undefined);
  for (const { replica, shard } of pairs) {
    if (replica.left === 0 || owners[shard] !== undefined) continue;
    owners[shard] = replica.identity;
    replica.left -= 1;
  }
  return owners;
}

function scoreOf(hash: number, shard: number): number {
  return mix(hash ^ Math.imul(shard + 1, 0x9e3779b1));
}

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
