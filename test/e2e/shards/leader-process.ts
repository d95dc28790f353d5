// A contender of ours for a Lease, which says what test/e2e/access/leader says: leader-process.ts KUBECONFIG NAMESPACE NAME
// IDENTITY DURATION DEADLINE RETRY, in milliseconds.
import { LeaderElection } from '../../../src/fleet/index.ts';
import { RestConfig } from '../../../src/index.ts';

const [, , kubeconfig = '', namespace = '', name = '', identity = '', ...times] = process.argv;
const [leaseDurationMs = 0, renewDeadlineMs = 0, retryPeriodMs = 0] = times.map(Number);
const hub = RestConfig.fromKubeConfig({ path: kubeconfig });
const timing = { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
const election = new LeaderElection({ hub, namespace, name, identity, ...timing, logger: { warn: () => {} } });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
for (let term = 1; !stop.signal.aborted; term++) {
  await election.run({
    signal: stop.signal,
    onNewLeader: (leader) => console.log(`leader ${leader}`),
    onStartedLeading: async (signal) => {
      for (;;) {
        // Before the questions: whatever stops this process in between, the line is about a moment in which it led.
        const now = process.hrtime.bigint();
        if (signal.aborted) return;
        if (election.isLeader) console.log(`beat ${term} ${now}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  });
}
