// A small multicluster controller: watches ClusterProfiles on the hub, and counts the namespaces of each cluster.
//
//   node controller.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer } from '@kubernetes/client-node';
import { type ClusterProfile, CredentialProviders, CredentialsError } from 'clusterprofile-credentials';

const providers = CredentialProviders.fromArgs(process.argv.slice(2));

const hub = new KubeConfig();
hub.loadFromDefault();
const hubApi = hub.makeApiClient(CustomObjectsApi);
const api = { group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'clusterprofiles' };

/** Called again and again for the same profile: equal profiles share one connection and one credential. */
async function reconcile(profile: ClusterProfile): Promise<void> {
  const name = `${profile.metadata?.namespace}/${profile.metadata?.name}`;
  try {
    const config = providers.getConfig(profile);
    const { items } = await config.makeApiClient(CoreV1Api).listNamespace();
    console.log(`${name}: ${items.length} namespaces`);
  } catch (error) {
    // client-node wraps what the dispatcher threw.
    const reason = error instanceof Error && error.cause instanceof CredentialsError ? error.cause : error;
    console.error(reason instanceof Error ? reason.message : reason);
  }
}

const informer = makeInformer<ClusterProfile>(hub, `/apis/${api.group}/${api.version}/${api.plural}`, () =>
  hubApi.listClusterCustomObject(api),
);
informer.on('add', reconcile);
informer.on('update', reconcile);
informer.on('error', (error) => {
  console.error('the watch of ClusterProfiles ended, it starts again in 5 s', error);
  setTimeout(() => informer.start(), 5_000);
});
await informer.start();
