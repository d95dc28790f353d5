// A replica of a sharded fleet: replica-process.ts KUBECONFIG COMMAND IDENTITY DURATION_MS. It calls each cluster that it has again
// and again, from a reconcile and from a loop that does not care whether the cluster is still its own, and says what becomes of
// its shards. On SIGTERM it leaves.
import { subscribe } from 'node:diagnostics_channel';
import { type Cluster, Fleet } from '../../../src/fleet/index.ts';
import { CredentialProviders, RestConfig } from '../../../src/index.ts';

const [, , kubeconfig = '', command = '', identity = '', durationMs = ''] = process.argv;
/** Milliseconds between two calls of a cluster, by each of the two. */
const periodMs = 2_000;
const say = (line: object) => console.log(JSON.stringify(line));

const hub = RestConfig.fromKubeConfig({ path: kubeconfig });
const env = [{ name: 'REPLICA', value: identity }];
const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command, env } as const;
const logger = { warn: (_fields: object, warning: string) => say({ warning }) };
const providers = new CredentialProviders([{ name: 'fake', execConfig }], { logger });
const fleet = new Fleet({
  hub,
  providers,
  namespaces: ['default'],
  logger,
  sharding: { namespace: 'default', name: 'e2e', identity, leaseDurationMs: Number(durationMs) },
});

const engagements = new WeakMap<Cluster, string>();
let count = 0;
const call = async (cluster: Cluster, signal?: AbortSignal) => {
  const engagement = engagements.get(cluster);
  const path = `/api/v1/namespaces/default/configmaps/work?engagement=${engagement}`;
  const response = await cluster.config.fetch(path, signal ? { signal } : {});
  await response.arrayBuffer();
};
fleet.onEngage((cluster) => {
  count += 1;
  engagements.set(cluster, `${identity}-${count}`);
  // It goes on for a while after its cluster has gone: none of that may arrive.
  let refused = 0;
  const careless = setInterval(() => {
    call(cluster).catch(() => {
      refused += 1;
      if (refused === 10) clearInterval(careless);
    });
  }, periodMs);
});
fleet.controller({
  name: 'work',
  for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
  reconcile: async (_, { cluster, signal }) => {
    await call(cluster, signal);
    return { requeueAfterMs: periodMs };
  },
});
subscribe('clusterprofile-credentials:fleet-shard', (event) => say({ ...Object(event) }));
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await fleet.run({ signal: stop.signal });
await providers.close();
// The careless loops.
process.exit(0);
