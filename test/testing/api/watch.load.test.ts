import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, configMaps, startApi } from '../../fixtures/api.ts';

test('is enough for 20,000 objects and a reader of all of them', async (t) => {
  const { cluster, watch } = await startApi(t);
  cluster.add(Array.from({ length: 20_000 }, (_, index) => configMap(`c-${index}`)));
  const { next } = await watch(
    `${configMaps}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  );
  let count = 0;
  while ((await next())?.type === 'ADDED') count += 1;
  assert.equal(count, 20_000);
});
