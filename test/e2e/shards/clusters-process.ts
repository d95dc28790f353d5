// Fake clusters that record who called them and when: clusters-process.ts COUNT IDENTITY... Its parent asks for the records.
import { FakeCluster } from '../../../src/testing/index.ts';

/** From the first to the last call of one engagement, in milliseconds of the machine's monotonic clock. */
export interface Calls {
  /** Whose token the calls had. */
  readonly replica: string;
  /** What the replica says that the calls belong to; empty for what the fleet does by itself. */
  readonly engagement: string;
  /** Of the first. */
  readonly url: string;
  readonly from: number;
  to: number;
}

/** What the parent gets first, and what it gets for any message. */
export interface Address {
  readonly url: string;
  readonly certificateAuthorityData: string;
}
export type Records = readonly (readonly Calls[])[];

const monotonic = () => Number(process.hrtime.bigint()) / 1e6;
const [, , count = '1', ...identities] = process.argv;
const records: Calls[][] = [];
const clusters = await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    const tokens = Object.fromEntries(identities.map((identity) => [identity, identity]));
    const cluster = await FakeCluster.start({ name: `c-${index}`, tokens });
    cluster.add([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'work' } }]);
    const calls: Calls[] = [];
    records[index] = calls;
    cluster.onRequest = ({ url, identity: replica = 'nobody' }) => {
      const at = monotonic();
      const engagement = /[?&]engagement=([^&]*)/.exec(url)?.[1] ?? '';
      const last = calls.findLast((one) => one.replica === replica && one.engagement === engagement);
      // What has no engagement is recorded one by one: nothing says that it belongs together.
      if (last && engagement !== '') last.to = at;
      else calls.push({ replica, engagement, url, from: at, to: at });
    };
    return cluster;
  }),
);
process.on('message', () => process.send?.(records));
process.on('disconnect', () => process.exit(0));
process.send?.(clusters.map(({ url, certificateAuthorityData }) => ({ url, certificateAuthorityData })));
