// A small multicluster controller: labels the namespaces of every cluster with the name of the cluster. It serves /metrics, /healthz
// and /readyz on port 9464, which the Deployments of examples/deploy probe and scrape.
//
//   node controller.ts --clusterprofile-provider-file=/etc/clusterprofile/providers.yaml
import { createServer } from 'node:http';
import { CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { CredentialMetrics, CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import { Fleet, FleetMetrics } from 'clusterprofile-credentials/fleet';
import { Registry } from 'prom-client';

const registry = new Registry();
const hub = RestConfig.fromDefault();
const providers = CredentialProviders.fromArgs(process.argv.slice(2), { metrics: new CredentialMetrics({ registry }) });
// In a Deployment, several replicas share the clusters, and may read the ClusterProfiles of one namespace.
const { POD_NAMESPACE: namespace, INVENTORY: inventory } = process.env;
const fleet = new Fleet({
  hub,
  providers,
  metrics: new FleetMetrics({ registry }),
  ...(inventory ? { namespaces: [inventory] } : {}),
  ...(namespace ? { sharding: { namespace, name: 'namespace-labels' } } : {}),
});
const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

fleet.onEngage(({ name, config, signal }) => {
  console.log(`${name} is in use: ${config.access.cluster.server}`);
  signal.addEventListener('abort', () => console.log(signal.reason.message));
});

fleet.controller({
  name: 'namespace-labels',
  for: { apiVersion: 'v1', kind: 'Namespace' },
  async reconcile({ name }, { cluster, object }) {
    const labels = { 'example.dev/cluster': cluster.name.replace('/', '.') };
    if (!object || object.metadata.labels?.['example.dev/cluster'] === labels['example.dev/cluster']) return;
    const core = cluster.config.makeApiClient(CoreV1Api); // equal configs share connections and credentials
    await core.patchNamespace({ name, body: { metadata: { labels } } }, mergePatch);
    console.log(`${cluster.name}: labelled ${name}`);
  },
});

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

// Ready when the hub has been read and every cluster tried, until the signal to stop. A cluster that is down changes nothing.
let isSynced = false;
fleet.synced({ signal: stop.signal }).then(
  () => {
    isSynced = true;
  },
  () => {},
);
const server = createServer(async ({ url }, response) => {
  if (url === '/metrics') {
    response.setHeader('content-type', registry.contentType).end(await registry.metrics());
    return;
  }
  const isReady = isSynced && !stop.signal.aborted;
  const isOk = url === '/healthz' || (url === '/readyz' && isReady);
  response.writeHead(isOk ? 200 : url === '/readyz' ? 503 : 404).end();
});
server.listen(Number(process.env.PORT ?? 9464), () => {
  console.log(`metrics and probes on port ${Object(server.address()).port}`);
});

await fleet.run({ signal: stop.signal });
server.close();
server.closeAllConnections();
await providers.close();
await hub.close();
