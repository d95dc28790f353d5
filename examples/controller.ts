// A small multicluster controller: watches ClusterProfiles on the hub, keeps one watch of namespaces on each cluster, and says
// which cluster fails and why. Copy it.
//
//   node controller.js --clusterprofile-provider-file /etc/clusterprofile/providers.yaml
import { isDeepStrictEqual } from 'node:util';
import { CoreV1Api, CustomObjectsApi, type Informer, makeInformer, type V1Namespace } from '@kubernetes/client-node';
import { type ClusterProfile, CredentialProviders, RestConfig } from 'clusterprofile-credentials';

// One answer of one cluster must not take the memory of all.
const providers = CredentialProviders.fromArgs(process.argv.slice(2), { maxResponseBytes: 64 * 1024 * 1024 });
const hub = RestConfig.fromDefault();

/** The one watch of a cluster, and what it connects with. */
interface Cluster {
  profile: ClusterProfile;
  readonly config: RestConfig;
  readonly informer: Informer<V1Namespace>;
}
const clusters = new Map<string, Cluster>();

const nameOf = ({ metadata }: ClusterProfile) => `${metadata?.namespace}/${metadata?.name}`;
// A message of this package names the cluster, what failed and what to do.
const complain = (name: string, error: unknown) => console.error(`${name}: ${error}`);

/** Called for every change of a profile: most of them change nothing about how the cluster is reached. */
function engage(profile: ClusterProfile): void {
  const name = nameOf(profile);
  const before = clusters.get(name);
  try {
    const config = providers.getConfig(profile);
    if (before && isDeepStrictEqual(before.config.access, config.access)) {
      before.profile = profile;
      return;
    }
    disengage(name);
    for (const { path, reason } of config.access.ignored) console.warn(`${name}: ${path}: ${reason}`);
    const core = config.makeApiClient(CoreV1Api);
    const informer = makeInformer(config, '/api/v1/namespaces', () => core.listNamespace());
    const cluster: Cluster = { profile, config, informer };
    clusters.set(name, cluster);
    informer.on('add', ({ metadata }) => console.log(`${name}: namespace ${metadata?.name}`));
    informer.on('delete', ({ metadata }) => console.log(`${name}: namespace ${metadata?.name} is gone`));
    informer.on('error', (error) => startAgain(cluster, error));
    informer.start().catch((error) => startAgain(cluster, error));
  } catch (error) {
    // The profile cannot be served as it is; the next change of it comes here again.
    disengage(name);
    complain(name, error);
  }
}

/** A watch that has ended starts again in a while, with what the profile and the providers say then. */
function startAgain(cluster: Cluster, error: unknown): void {
  const name = nameOf(cluster.profile);
  if (clusters.get(name) !== cluster) return;
  complain(name, error);
  setTimeout(() => {
    if (clusters.get(name) !== cluster) return;
    disengage(name);
    engage(cluster.profile);
  }, 5_000);
}

function disengage(name: string): void {
  const cluster = clusters.get(name);
  clusters.delete(name);
  cluster?.informer.stop().catch((error) => complain(name, error));
  cluster?.config.close().catch((error) => complain(name, error));
}

const api = { group: 'multicluster.x-k8s.io', version: 'v1alpha1', plural: 'clusterprofiles' };
const profiles = makeInformer<ClusterProfile>(hub, `/apis/${api.group}/${api.version}/${api.plural}`, () =>
  hub.makeApiClient(CustomObjectsApi).listClusterCustomObject(api),
);
profiles.on('add', engage);
profiles.on('update', engage);
profiles.on('delete', (profile) => disengage(nameOf(profile)));
const startHub = () =>
  profiles.start().catch((error: unknown) => {
    complain('hub', error);
    setTimeout(startHub, 5_000);
  });
profiles.on('error', (error) => {
  complain('hub', error);
  setTimeout(startHub, 5_000);
});
await startHub();
