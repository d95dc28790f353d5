// Keeps a template of syncer.ts that was deleted until no cluster has a copy of it any more: with a finalizer for each cluster.
//
//   node cleanup.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { CredentialProviders, RestConfig } from 'clusterprofile-credentials';
import { Fleet } from 'clusterprofile-credentials/fleet';

const providers = CredentialProviders.fromArgs(process.argv.slice(2));
const namespace = process.env.POD_NAMESPACE;
const sharding = namespace ? { sharding: { namespace, name: 'cleanup' } } : {};
const fleet = new Fleet({ hub: RestConfig.fromDefault(), providers, ...sharding });

const copies = { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: 'example.dev/copied=true', metadataOnly: true };
const template = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'templates' };
const templates = { ...template, metadataOnly: true };
const profiles = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', metadataOnly: true };
const prefix = 'cleanup.example.dev/';

fleet.controller({
  name: 'cleanup',
  for: { ...copies, namespace: 'default' },
  watches: [{ ...templates, on: 'hub', map: ({ metadata: { name } }) => [{ namespace: 'default', name }] }],
  async reconcile({ name }, { cluster, object, hub, hubInformer, signal }) {
    const held = hubInformer(templates).get(name, 'templates');
    if (!held) return;
    const { uid, deletionTimestamp, finalizers = [] } = held.metadata;
    if (deletionTimestamp && object) return; // the copy goes, and then it is reconciled again
    const key = cluster.name.replace('/', '.');
    if (finalizers.includes(prefix + key) === !deletionTimestamp) return;
    const metadata = { name, uid, finalizers: deletionTimestamp ? [] : [prefix + key] };
    // Each cluster applies a finalizer of its own, so there are no conflicts. With the uid nothing is created.
    await hub.resource({ ...template, fieldManager: key }).apply({ metadata }, { signal });
  },
});

const allTemplates = () => fleet.hub.informer(templates).list();

// A cluster that has left the hub needs no template.
fleet.controller({
  name: 'departed',
  for: { ...templates, on: 'hub' },
  watches: [{ ...profiles, on: 'hub', map: () => allTemplates().map(({ metadata }) => metadata) }],
  async reconcile({ name }, { object, hub, hubInformer, signal }) {
    const { finalizers = [], resourceVersion } = object?.metadata ?? {};
    const clusters = hubInformer(profiles).list();
    const needed = new Set(clusters.map(({ metadata }) => `${prefix}${metadata.namespace}.${metadata.name}`));
    const kept = finalizers.filter((finalizer) => !finalizer.startsWith(prefix) || needed.has(finalizer));
    if (kept.length === finalizers.length) return;
    await hub.resource(template).patch(name, { metadata: { finalizers: kept, resourceVersion } }, { signal });
  },
});

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await fleet.run({ signal: stop.signal });
await Promise.all([providers.close(), fleet.hub.config.close()]);
