// Logs the namespaces of every cluster, and each change of one.
import { CredentialProviders, RestConfig, stopSignal } from 'clusterprofile-credentials';
import { Fleet } from 'clusterprofile-credentials/fleet';

const fleet = new Fleet({ hub: RestConfig.fromDefault(), providers: CredentialProviders.fromFile('providers.yaml') });
fleet.controller({
  name: 'namespaces',
  for: { apiVersion: 'v1', kind: 'Namespace' },
  reconcile({ name }, { cluster, object }) {
    console.log(cluster.name, name, object?.status?.phase ?? 'is gone');
  },
});
await fleet.run({ signal: stopSignal() });
