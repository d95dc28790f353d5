// Says on the hub which clusters have a copy of each template of syncer.ts, and how many have one.
//
//   node reporter.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { CredentialProviders, RestConfig, stopSignal } from 'clusterprofile-credentials';
import { clusterKey, Fleet } from 'clusterprofile-credentials/fleet';

const providers = CredentialProviders.fromArgs(process.argv.slice(2));
const namespace = process.env.POD_NAMESPACE;
const sharding = namespace ? { sharding: { namespace, name: 'reporter' } } : {};
const fleet = new Fleet({ hub: RestConfig.fromDefault(), providers, ...sharding });

const configMaps = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
const templates = { ...configMaps, namespace: 'templates', metadataOnly: true };
const reports = { ...configMaps, namespace: 'reports' };

// One report for each template. Each cluster has a field of its own in it, and a field manager.
fleet.controller({
  name: 'reporter',
  for: { ...configMaps, namespace: 'default', labelSelector: 'example.dev/copied=true', metadataOnly: true },
  watches: [{ ...templates, on: 'hub', map: ({ metadata: { name } }) => [{ namespace: 'default', name }] }],
  async reconcile({ name }, { cluster, object, hub, signal }) {
    const key = clusterKey(cluster.name);
    // A field that was applied before, and is not there any more, is removed.
    const data = object ? { [key]: object.metadata.uid ?? '' } : {};
    await hub.resource({ ...reports, fieldManager: key }).apply({ metadata: { name }, data }, { force: true, signal });
  },
});

// Each template is counted in one replica, wherever its copies are.
fleet.controller({
  name: 'counter',
  for: { ...templates, on: 'hub' },
  watches: [{ ...reports, on: 'hub', map: ({ metadata: { name } }) => [{ namespace: 'templates', name }] }],
  async reconcile({ name }, { object, hub, hubInformer, signal }) {
    const report = hubInformer(reports).get(name, 'reports');
    const copies = String(Object.keys(report?.data ?? {}).length);
    if (object && object.metadata.annotations?.['example.dev/copies'] !== copies) {
      const metadata = { annotations: { 'example.dev/copies': copies } };
      await hub.resource({ ...configMaps, namespace: 'templates' }).patch(name, { metadata }, { signal });
    } else if (!object && report && copies === '0') {
      const { resourceVersion = '' } = report.metadata; // a cluster may have written to it meanwhile
      await hub.resource(reports).delete(name, { preconditions: { resourceVersion }, signal });
    }
  },
});

await fleet.run({ signal: stopSignal() });
await Promise.all([providers.close(), fleet.hub.config.close()]);
