// A FakeCluster in a process of its own, so that its work is not counted as the client's.
import { FakeCluster } from '../../src/testing/index.ts';

const cluster = await FakeCluster.start({ tokens: { 'bench-token': 'bench' }, http2: process.argv[2] !== 'http1' });
process.on('message', () => process.send?.({ connections: cluster.stats.connections }));
process.on('disconnect', () => cluster.close());
process.send?.({ url: cluster.url, certificateAuthorityData: cluster.certificateAuthorityData });
