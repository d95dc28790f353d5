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
        data: { v: 'x'.repeat(Number(process.argv[4] ?? 256)) },
      })),
    );
    return cluster;
  }),
);
/** Asks for the number of open connections, or writes an object into one cluster. */
type Message = { readonly stats: true } | { readonly write: number; readonly name: string };
process.on('message', (message: Message) => {
  if ('stats' in message) {
    process.send?.({ connections: clusters.reduce((sum, { stats }) => sum + stats.openConnections, 0) });
    return;
  }
  const { write, name } = message;
  const data = { writtenAt: String(Date.now()) };
  clusters[write]?.set({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
});
process.on('disconnect', () => process.exit(0));
process.send?.(clusters.map(({ url, certificateAuthorityData }) => ({ url, certificateAuthorityData })));
