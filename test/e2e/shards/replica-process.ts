// A replica of a sharded fleet. It calls each cluster that it has again and again, from a reconcile and from a loop that does not care
// whether the cluster is still its own.
import type { Cluster } from '../../../src/fleet/index.ts';
import { given, runReplica, sendCarelessly } from './replica-program.ts';

/** Milliseconds between two calls of a cluster, by each of the two. */
const periodMs = 2_000;
const env = [{ name: 'REPLICA', value: given.identity }];
const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: given.command, env } as const;

const engagements = new WeakMap<Cluster, string>();
let count = 0;
const call = async (cluster: Cluster, signal?: AbortSignal) => {
  const engagement = engagements.get(cluster);
  const path = `/api/v1/namespaces/default/configmaps/work?engagement=${engagement}`;
  const response = await cluster.config.fetch(path, signal ? { signal } : {});
  await response.arrayBuffer();
};

await runReplica([{ name: 'fake', execConfig }], (fleet) => {
  fleet.onEngage((cluster) => {
    count += 1;
    engagements.set(cluster, `${given.identity}-${count}`);
    sendCarelessly(() => call(cluster), periodMs);
  });
  fleet.controller({
    name: 'work',
    for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
    reconcile: async (_, { cluster, signal }) => {
      await call(cluster, signal);
      return { requeueAfterMs: periodMs };
    },
  });
});
