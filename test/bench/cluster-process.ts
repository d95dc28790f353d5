// A FakeCluster in a process of its own, so that a test can stop it.
import { FakeCluster } from '../../src/testing/index.ts';

const cluster = await FakeCluster.start({ tokens: {} });
process.on('disconnect', () => cluster.close());
process.send?.({ url: cluster.url, certificateAuthorityData: cluster.certificateAuthorityData });
