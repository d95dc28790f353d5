/** The verb that makes ClusterProfiles for clusters that nobody publishes. */
import { hubOptions, outputOptions } from '../option-groups.ts';
import type { OptionSpec, Verb } from '../verb.ts';

/** `--context` names contexts of the source here. */
const ownHubOptions: readonly OptionSpec[] = hubOptions.map((option) =>
  option.flags.startsWith('--context')
    ? { flags: '--hub-context <name>', about: "the hub's context (default: the current one)", completes: 'contexts' }
    : option,
);

export const publish: Verb = {
  name: 'publish',
  summary: 'make ClusterProfiles of the contexts of a kubeconfig, or of the clusters of Cluster API',
  description:
    'Writes a ClusterProfile to the hub for each cluster of a source, and the provider file that reaches them. A run that changes nothing writes nothing. ClusterProfiles of other cluster managers are left alone, and no ClusterProfile, provider file or output holds a credential.',
  options: [
    { flags: '--from-kubeconfig <file>', about: 'publish the contexts of this kubeconfig', completes: 'files' },
    {
      flags: '--context <pattern>',
      about: 'only contexts of this name, a * stands for any characters; may be repeated',
      multiple: true,
      completes: 'contexts',
    },
    { flags: '--from-cluster-api', about: 'publish the clusters whose kubeconfigs Cluster API keeps on the hub' },
    { flags: '-A, --all-namespaces', about: 'with --from-cluster-api: clusters in all namespaces' },
    { flags: '--providers <file>', about: 'the provider file to write; what is in it is kept', completes: 'files' },
    { flags: '--force', about: 'widen providers that are in the file already' },
    {
      flags: '--write-secrets <namespace>',
      about: 'write tokens and client certificates into Secrets in this namespace of the hub',
      completes: 'namespaces',
    },
    {
      flags: '--service-account <name>',
      about: 'create this service account ([NAMESPACE/]NAME) on each cluster, and publish its token instead',
      completes: 'nothing',
    },
    { flags: '--cluster-role <name>', about: 'with --service-account: what it may do', completes: 'nothing' },
    {
      flags: '--token-lifetime <duration>',
      about: 'with --service-account: how long its token is valid (default: 720h)',
      completes: 'nothing',
    },
    { flags: '--allow-insecure-tls', about: 'publish clusters with insecure-skip-tls-verify too' },
    {
      flags: '--cluster-manager <name>',
      about: 'spec.clusterManager.name of the ClusterProfiles (default: clusterprofile-publish)',
      completes: 'nothing',
    },
    {
      flags: '--name-pattern <pattern>',
      about: 'the names of the ClusterProfiles: {context}, {cluster}; for Cluster API {cluster}, {namespace}',
      completes: 'nothing',
    },
    { flags: '--skip-health', about: 'do not connect to the clusters, and leave their health as it is' },
    { flags: '--prune', about: 'delete ClusterProfiles of this cluster manager whose clusters have left the source' },
    { flags: '-w, --watch', about: 'keep running, and keep everything up to date' },
    {
      flags: '--interval <duration>',
      about: 'with --watch: the pause between rounds (default: 60s)',
      completes: 'nothing',
    },
    {
      flags: '--metrics-port <port>',
      about: 'with --watch: serve /metrics and /healthz on this port',
      completes: 'nothing',
    },
    { flags: '--dry-run', about: 'show what would be written, and write nothing' },
    ...ownHubOptions,
    ...outputOptions('json', 'yaml', 'name'),
  ],
  runsPlugins: true,
  examples: [
    {
      what: 'contexts whose users have an exec plugin',
      args: "publish --from-kubeconfig ~/.kube/config --context 'prod-*' -n fleet --providers providers.yaml",
    },
    {
      what: 'contexts of an administrator: an identity of its own on each cluster',
      args: 'publish --from-kubeconfig ~/.kube/config -n fleet --providers providers.yaml --service-account fleet-controller --cluster-role edit',
    },
    {
      what: 'the clusters of Cluster API, for ever',
      args: 'publish --from-cluster-api -A --providers providers.yaml --watch --prune',
    },
  ],
  load: () => import('../verbs/publish.ts'),
};
