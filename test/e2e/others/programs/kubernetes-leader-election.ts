// A replica that leads. It plans a renewal at each change of its Lease that it sees. With an interval of a second, two of them meet on
// a slow machine: one is refused with a 409, and it steps down.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { CoordinationV1Api, KubeConfig, Watch } from '@kubernetes/client-node';
import { toKubeConfig } from '../../../../src/index.ts';
import { config } from './config.ts';
import { serve } from './serve.ts';

// It has no types.
const { Elector } = createRequire(import.meta.url)('@codedependant/kubernetes-leader-election');

// What says to it that there is a cluster.
process.env.KUBERNETES_SERVICE_HOST = 'kubernetes.default.svc';
const log = { debug() {}, error: console.error, child: () => log };
const elector = new Elector({ identity: 'e2e', renew_interval_ms: 5_000, lease_duration_sec: 15, log });
if (config) {
  const kubeConfig = toKubeConfig(config, KubeConfig);
  elector.client = kubeConfig.makeApiClient(CoordinationV1Api);
  elector.watch = new Watch(kubeConfig);
}
const leads = once(elector, 'leadership_acquired');
// Before the first question, this rejection ends the process. After it, the one that waits fails, or the next.
const lost = once(elector, 'leadership_lost').then(() => Promise.reject(new Error('it does not lead any more')));
await elector.start();

await serve(async () => {
  await leads;
  await Promise.race([once(elector, 'lease_renewed'), lost]);
  return 'renewed';
});
