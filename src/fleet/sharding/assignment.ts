/**
 * Which replica works on which shard: weighted rendezvous hashing, with a capacity for each replica. Pure: all replicas compute
 * the same from what they see, and do not talk to each other. So it must not change from release to release.
 */
import { hashOf, mix } from './hash.ts';

/** A replica that can own shards. */
export interface Candidate {
  readonly identity: string;
  /** Its share compared with that of others. 0: it owns none. */
  readonly weight: number;
}

/**
 * By shard, the identity of its replica; `undefined` where nobody wants any. Shares are as the weights are, and differ by one
 * shard at most where these are equal. When a replica comes or goes little else moves than what it gets or had.
 */
export function assignShards(candidates: readonly Candidate[], shards: number): readonly (string | undefined)[] {
  const able = candidates.filter(({ weight }) => weight > 0);
  const left = capacities(able, shards);
  const pairs: { readonly candidate: Candidate; readonly shard: number; readonly score: number }[] = [];
  for (const candidate of able) {
    const hash = hashOf(candidate.identity);
    for (let shard = 0; shard < shards; shard++) {
      pairs.push({ candidate, shard, score: scoreOf(hash, candidate.weight, shard) });
    }
  }
  // The pairs that fit best come first.
  pairs.sort(
    (a, b) => b.score - a.score || a.shard - b.shard || (a.candidate.identity < b.candidate.identity ? -1 : 1),
  );
  const owners = new Array<string | undefined>(shards).fill(undefined);
  for (const { candidate, shard } of pairs) {
    const room = left.get(candidate) ?? 0;
    if (room === 0 || owners[shard] !== undefined) continue;
    owners[shard] = candidate.identity;
    left.set(candidate, room - 1);
  }
  return owners;
}

/** How many shards each may own: its share, rounded so that the sum is the number of shards. */
function capacities(candidates: readonly Candidate[], shards: number): Map<Candidate, number> {
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  const parts = candidates.map((candidate) => {
    const exact = (shards * candidate.weight) / total;
    return { candidate, whole: Math.floor(exact), rest: exact % 1, tie: hashOf(candidate.identity) };
  });
  parts.sort((a, b) => b.rest - a.rest || a.tie - b.tie || (a.candidate.identity < b.candidate.identity ? -1 : 1));
  const left = shards - parts.reduce((sum, { whole }) => sum + whole, 0);
  return new Map(parts.map(({ candidate, whole }, index) => [candidate, whole + (index < left ? 1 : 0)]));
}

/** How well a shard fits a replica: of two replicas the one with twice the weight wins twice as often. */
function scoreOf(hash: number, weight: number, shard: number): number {
  const uniform = (mix(hash ^ Math.imul(shard + 1, 0x9e3779b1)) + 0.5) / 2 ** 32;
  return -weight / Math.log(uniform);
}
