// Copies the ConfigMaps of the hub's namespace "templates" to every cluster, and keeps the copies as they are on the hub.
//
//   node syncer.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { CredentialProviders, RestConfig, stopSignal } from 'clusterprofile-credentials';
import { Fleet } from 'clusterprofile-credentials/fleet';

const providers = CredentialProviders.fromArgs(process.argv.slice(2));
// In a Deployment, several replicas share the clusters.
const namespace = process.env.POD_NAMESPACE;
const sharding = namespace ? { sharding: { namespace, name: 'syncer' } } : {};
const fleet = new Fleet({ hub: RestConfig.fromDefault(), providers, ...sharding });

const configMaps = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
const templates = { ...configMaps, namespace: 'templates' };
const labels = { 'example.dev/copied': 'true' };

fleet.controller({
  name: 'syncer',
  // The copies: a copy that is changed or deleted is restored.
  for: { ...configMaps, namespace: 'default', labelSelector: 'example.dev/copied=true' },
  watches: [{ ...templates, on: 'hub', map: ({ metadata: { name } }) => [{ namespace: 'default', name }] }],
  async reconcile({ name }, { cluster, object, hubInformer, signal }) {
    const template = hubInformer(templates).get(name, 'templates');
    const copies = cluster.resource({ ...configMaps, namespace: 'default', fieldManager: 'syncer' });
    if (template && !template.metadata.deletionTimestamp) {
      // Changes nothing where the copy is as it should be.
      await copies.apply({ metadata: { name, labels }, data: template.data ?? {} }, { force: true, signal });
    } else if (object) {
      await copies.delete(name, { signal });
    }
  },
});

await fleet.run({ signal: stopSignal() });
await Promise.all([providers.close(), fleet.hub.config.close()]);
