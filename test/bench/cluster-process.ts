// A FakeCluster in a process of its own, so that its work is not counted as the client's, and it can be stopped.
import { FakeCluster } from '../../src/testing/index.ts';
import { newNamespace } from '../fixtures/fleet.ts';

const cluster = await FakeCluster.start({ tokens: { 'bench-token': 'bench' }, http2: process.argv[2] !== 'http1' });
process.on('message', (message: 'stats' | { readonly emit: string }) => {
  if (message === 'stats') process.send?.({ connections: cluster.stats.connections });
  else cluster.add(newNamespace(message.emit));
});
process.on('disconnect', () => cluster.close());
process.send?.({ url: cluster.url, certificateAuthorityData: cluster.certificateAuthorityData });
