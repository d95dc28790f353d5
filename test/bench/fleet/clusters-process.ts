// Fake clusters in a process of their own: clusters-process.ts COUNT OBJECTS. Says where they are; changes one on demand.
import { FakeCluster } from '../../../src/testing/index.ts';

const [, , count = '1', objects = '10'] = process.argv;
const clusters = await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    const cluster = await FakeCluster.start({ name: `c-${index}`, tokens: { 'bench-token': 'bench' } });
    cluster.add(
      Array.from({ length: Number(objects) }, (__, i) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `map-${i}` },
        data: { v: 'x'.repeat(256) },
      })),
    );
    return cluster;
  }),
);
process.on('message', ({ write, name }: { readonly write: number; readonly name: string }) => {
  const data = { writtenAt: String(Date.now()) };
  clusters[write]?.set({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
});
process.on('disconnect', () => process.exit(0));
process.send?.(clusters.map(({ url, certificateAuthorityData }) => ({ url, certificateAuthorityData })));
