// A FakeCluster in a thread of its own: it goes on while the test blocks its own thread, and counts the requests that have arrived.
import { parentPort, workerData } from 'node:worker_threads';
import { FakeCluster } from '../../src/testing/index.ts';

const arrived = new Int32Array(workerData);
const cluster = await FakeCluster.start({ tokens: { token: 'me' } });
cluster.onRequest = () => {
  Atomics.add(arrived, 0, 1);
  Atomics.notify(arrived, 0);
};
parentPort?.postMessage({ url: cluster.url, certificateAuthorityData: cluster.certificateAuthorityData });
