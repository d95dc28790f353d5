// As syncer.ts, and keeps a template that was deleted until no cluster has a copy of it: with a finalizer for each cluster.
//
//   node cleanup.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { CredentialProviders, RestConfig, stopSignal } from 'clusterprofile-credentials';
import { clusterKey, Fleet } from 'clusterprofile-credentials/fleet';

const providers = CredentialProviders.fromArgs(process.argv.slice(2));
const namespace = process.env.POD_NAMESPACE;
const sharding = namespace ? { sharding: { namespace, name: 'cleanup' } } : {};
const fleet = new Fleet({ hub: RestConfig.fromDefault(), providers, ...sharding });

const copied = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' } as const;
const templates = { ...copied, namespace: 'templates' };
const profiles = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', metadataOnly: true };
const prefix = 'cleanup.example.dev/';

fleet.controller({
  name: 'cleanup',
  for: { ...copied, labelSelector: 'example.dev/copied=true' },
  watches: [{ ...templates, on: 'hub', map: ({ metadata: { name } }) => [{ namespace: 'default', name }] }],
  async reconcile({ name }, { cluster, object, hub, hubInformer, signal }) {
    const template = hubInformer(templates).get(name, 'templates');
    const { uid, deletionTimestamp, finalizers } = template?.metadata ?? {};
    const [key, copies] = [clusterKey(cluster.name), cluster.resource({ ...copied, fieldManager: 'cleanup' })];
    // Each cluster applies a finalizer of its own, so there are no conflicts. With the uid nothing is created.
    const held = hub.resource({ ...templates, fieldManager: key });
    const hold = (finalizers: readonly string[]) => held.apply({ metadata: { name, uid, finalizers } }, { signal });
    if (template && !deletionTimestamp) {
      // Before the copy: the template cannot go while there is one.
      if (!finalizers?.includes(prefix + key)) await hold([prefix + key]);
      const metadata = { name, labels: { 'example.dev/copied': 'true' } };
      await copies.apply({ metadata, data: template.data ?? {} }, { force: true, signal });
    } else if (object)
      await copies.delete(name, { signal }); // the copy goes, and then it is reconciled again
    else if (finalizers?.includes(prefix + key)) await hold([]);
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
    const needed = new Set(
      clusters.map(({ metadata }) => prefix + clusterKey(`${metadata.namespace}/${metadata.name}`)),
    );
    const kept = finalizers.filter((finalizer) => !finalizer.startsWith(prefix) || needed.has(finalizer));
    if (kept.length === finalizers.length) return;
    await hub.resource(templates).patch(name, { metadata: { finalizers: kept, resourceVersion } }, { signal });
  },
});

await fleet.run({ signal: stopSignal() });
await Promise.all([providers.close(), fleet.hub.config.close()]);
