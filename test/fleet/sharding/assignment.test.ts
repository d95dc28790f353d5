import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assignShards, shardOf } from '../../../src/fleet/sharding/names.ts';
import { fc } from '../../fixtures/property.ts';

const identities = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 20 });

function sharesOf(owners: readonly (string | undefined)[]): ReadonlyMap<string | undefined, number> {
  return new Map([...Map.groupBy(owners, (owner) => owner)].map(([owner, shards]) => [owner, shards.length]));
}

const moves = (before: readonly unknown[], after: readonly unknown[]) =>
  before.filter((owner, shard) => owner !== after[shard]).length;

describe('the assignment of shards', () => {
  test('gives each shard an owner, in shares that differ by one at most', () => {
    fc.assert(
      fc.property(identities, fc.integer({ min: 1, max: 200 }), (names, shards) => {
        const owners = assignShards(names, shards);
        assert.equal(owners.length, shards);
        const shares = names.map((name) => sharesOf(owners).get(name) ?? 0);
        const sum = shares.reduce((total, share) => total + share, 0);
        assert.equal(sum, shards);
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
      }),
    );
  });

  test('is the same in whatever order the replicas are seen', () => {
    fc.assert(
      fc.property(identities, (names) => {
        assert.deepEqual(assignShards(names, 64), assignShards(names.toReversed(), 64));
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
        const before = assignShards(names, 64);
        const after = assignShards([...names, `pod-${round}-new`], 64);
        moved += moves(before, after);
        needed += sharesOf(after).get(`pod-${round}-new`) ?? 0;
      }
      assert.ok(moved <= most * needed, `${count} replicas and one more: ${moved / needed} times what it gets`);
    }
  });

  test('gives nothing where there is no replica', () => {
    assert.deepEqual(assignShards([], 2), [undefined, undefined]);
  });

  test('is the same in every release: replicas of two releases have to agree', () => {
    const owners = assignShards(['pod-a', 'pod-b', 'pod-c'], 12);
    assert.equal(owners.map((owner) => owner?.slice(-1)).join(''), 'aacaaccbbbbc');
    const shards = ['fleet/spoke-1', 'fleet/spoke-2', 'fleet/ü'].map((key) => shardOf(key, 64));
    assert.deepEqual(shards, [12, 37, 4]);
  });

  test('spreads clusters evenly over the shards', () => {
    const counts = new Array<number>(64).fill(0);
    for (let index = 0; index < 64_000; index++) {
      const shard = shardOf(`fleet/cluster-${index}`, 64);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    assert.ok(least > 850 && most < 1_150, `${least} to ${most}`);
  });
});
