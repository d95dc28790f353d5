import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, startApi } from '../../fixtures/api.ts';

const namespaces = '/api/v1/namespaces';
const merge = { 'content-type': 'application/merge-patch+json' };

test('ends in a time that grows with what is in it, and no faster', async (t) => {
  const measure = async (count: number) => {
    const { cluster, send } = await startApi(t);
    await send('POST', namespaces, { metadata: { name: 'n' } });
    const finalizers = ['example.com/x'];
    const metadata = (index: number) => ({ namespace: 'n', name: `c-${index}`, finalizers });
    cluster.add(Array.from({ length: count }, (_, index) => configMap('', { metadata: metadata(index) })));
    await send('DELETE', `${namespaces}/n`);
    // The same requests in both: what grows is what else is there.
    const began = performance.now();
    for (let index = 0; index < 100; index++) {
      await send('PATCH', `${namespaces}/n/configmaps/c-${index}`, { metadata: { finalizers: null } }, merge);
    }
    return performance.now() - began;
  };
  await measure(100);
  const [few, many] = [await measure(200), await measure(8_000)];
  assert.ok(many < 8 * few + 200, `${many} ms beside ${few} ms`);
});
