// A small multicluster controller: labels the namespaces of every cluster with the name of the cluster.
//
//   node controller.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import { Fleet } from 'clusterprofile-credentials/fleet';

const hub = RestConfig.fromDefault();
const providers = CredentialProviders.fromArgs(process.argv.slice(2));
// In a Deployment, several replicas share the clusters.
const namespace = process.env.POD_NAMESPACE;
const sharding = namespace ? { sharding: { namespace, name: 'namespace-labels' } } : {};
const fleet = new Fleet({ hub, providers, ...sharding });
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
await fleet.run({ signal: stop.signal });
await providers.close();
await hub.close();
