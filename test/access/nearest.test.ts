import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nearest } from '../../src/access/schema-problems.ts';

describe('the name that somebody most likely meant', () => {
  for (const [word, candidates, meant] of [
    ['googel', ['google', 'eks'], 'google'],
    ['Google', ['google'], 'google'],
    ['open-cluster-managment', ['open-cluster-management'], 'open-cluster-management'],
    ['opencluster-management', ['open-cluster-management'], 'open-cluster-management'],
    // Each part counts by itself: these are two clouds.
    ['argo-cd-builtin-aws', ['argo-cd-builtin-gcp', 'argo-cd-builtin-azure'], undefined],
    ['argo-cd-builtin-awz', ['argo-cd-builtin-gcp', 'argo-cd-builtin-aws'], 'argo-cd-builtin-aws'],
    ['--clusterprofile-cli-rags', ['--clusterprofile-cli-args'], '--clusterprofile-cli-args'],
    ['', ['google'], undefined],
  ] as const) {
    test(`of ${word || 'nothing'}, where there are ${candidates.join(', ')}, is ${meant ?? 'none'}`, () => {
      assert.equal(nearest(word, candidates), meant);
    });
  }
});
