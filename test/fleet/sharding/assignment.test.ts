import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { assignShards, type Candidate } from '../../../src/fleet/sharding/assignment.ts';
import { shardOf } from '../../../src/fleet/sharding/hash.ts';

const identities = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 });
const candidatesOf = (names: readonly string[], weight = 1): readonly Candidate[] =>
  names.map((identity) => ({ identity, weight }));

function sharesOf(owners: readonly (string | undefined)[]): ReadonlyMap<string | undefined, number> {
  return new Map([...Map.groupBy(owners, (owner) => owner)].map(([owner, shards]) => [owner, shards.length]));
}

const moves = (before: readonly unknown[], after: readonly unknown[]) =>
  before.filter((owner, shard) => owner !== after[shard]).length;

describe('the assignment of shards', () => {
  test('gives each shard to somebody, in shares that differ by one at most', () => {
    fc.assert(
      fc.property(identities, fc.integer({ min: 1, max: 200 }), (names, shards) => {
        const owners = assignShards(candidatesOf(names), shards);
        assert.equal(owners.length, shards);
        const shares = names.map((name) => sharesOf(owners).get(name) ?? 0);
        assert.equal(
          shares.reduce((sum, share) => sum + share, 0),
          shards,
        );
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
      }),
    );
  });

  test('gives shares as the weights are, to within one shard', () => {
    const weighted = fc.uniqueArray(
      fc.record({ identity: fc.string({ minLength: 1 }), weight: fc.double({ min: 0.1, max: 1_000, noNaN: true }) }),
      { minLength: 1, maxLength: 10, selector: ({ identity }) => identity },
    );
    fc.assert(
      fc.property(weighted, (candidates) => {
        const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
        const shares = sharesOf(assignShards(candidates, 64));
        for (const { identity, weight } of candidates) {
          const exact = (64 * weight) / total;
          assert.ok(Math.abs((shares.get(identity) ?? 0) - exact) <= 1, `${identity}: ${exact}`);
        }
      }),
    );
  });

  test('is the same in whatever order the replicas are seen', () => {
    fc.assert(
      fc.property(identities, (names) => {
        const candidates = candidatesOf(names);
        assert.deepEqual(assignShards(candidates, 64), assignShards(candidates.toReversed(), 64));
      }),
    );
  });

  test('moves little else than what a replica that comes or goes gets or had', () => {
    for (const [count, most] of [
      [2, 1.3],
      [3, 1.4],
      [5, 1.6],
      [10, 2.2],
    ] as const) {
      let [moved, needed] = [0, 0];
      for (let round = 0; round < 50; round++) {
        const names = Array.from({ length: count }, (_, index) => `pod-${round}-${index}`);
        const before = assignShards(candidatesOf(names), 64);
        const after = assignShards(candidatesOf([...names, `pod-${round}-new`]), 64);
        moved += moves(before, after);
        needed += sharesOf(after).get(`pod-${round}-new`) ?? 0;
      }
      assert.ok(moved <= most * needed, `${count} replicas and one more: ${moved / needed} times what it gets`);
    }
  });

  test('gives nothing to a weight of 0, and nothing to anybody where nobody wants any', () => {
    const owners = assignShards([...candidatesOf(['a']), ...candidatesOf(['b'], 0)], 8);
    assert.deepEqual(owners, new Array(8).fill('a'));
    assert.deepEqual(assignShards(candidatesOf(['a', 'b'], 0), 3), [undefined, undefined, undefined]);
    assert.deepEqual(assignShards([], 2), [undefined, undefined]);
  });

  test('is the same in every release: replicas of two releases have to agree', () => {
    const owners = assignShards(candidatesOf(['pod-a', 'pod-b', 'pod-c']), 12);
    assert.equal(owners.map((owner) => owner?.slice(-1)).join(''), 'aacaaccbbbbc');
    assert.deepEqual(
      ['fleet/spoke-1', 'fleet/spoke-2', 'fleet/ü'].map((key) => shardOf(key, 64)),
      [12, 37, 4],
    );
  });

  test('spreads clusters evenly over the shards', () => {
    const counts = new Array<number>(64).fill(0);
    for (let index = 0; index < 64_000; index++) {
      const shard = shardOf(`fleet/cluster-${index}`, 64);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    assert.ok(
      Math.min(...counts) > 850 && Math.max(...counts) < 1_150,
      `${Math.min(...counts)} to ${Math.max(...counts)}`,
    );
  });
});
