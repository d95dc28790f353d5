/** The verbs that write kubeconfigs and ClusterProfiles: kubeconfig, credential, exec and publish. */

import {
  hubOptions,
  type OptionSpec,
  oneProfileOptions,
  outputOptions,
  profileOptions,
  providerOptions,
  type Verb,
} from '../verb.ts';

export const kubeconfig: Verb = {
  name: 'kubeconfig',
  arguments: '[NAME...]',
  completes: 'profiles',
  summary: 'write a kubeconfig with a context for each cluster',
  description:
    'Writes a kubeconfig with a context for each ClusterProfile, named NAMESPACE/NAME@HUB unless --context-name sets another pattern. Its users exec "clusterprofile credential" with the same hub and the same flags, so it holds no credential. A cluster that no provider serves is left out and reported on stderr.',
  options: [
    ...profileOptions,
    ...providerOptions,
    {
      flags: '--merge <file>',
      about: 'write the contexts into this kubeconfig, and change nothing else in it',
      completes: 'files',
    },
    { flags: '--cache', about: 'cache credentials on disk until a minute before they expire' },
    { flags: '--prune', about: 'with --merge: remove the contexts of ClusterProfiles that are gone from this hub' },
    { flags: '-w, --watch', about: 'with --merge: keep running, and keep the file up to date' },
    { flags: '--use <name>', about: "make this ClusterProfile's context the current one", completes: 'profiles' },
    {
      flags: '--context-name <template>',
      about: 'the names of the contexts, with {namespace}, {name} and {hub} (default: {namespace}/{name}@{hub})',
    },
    {
      flags: '--command <command>',
      about: 'the command that the users exec (default: this program, by its absolute path)',
      completes: 'files',
    },
    ...outputOptions('json', 'yaml'),
  ],
  takesProviderFlags: true,
  runsPlugins: true,
  examples: [
    {
      what: 'one cluster, for a while',
      args: 'kubeconfig fleet/spoke-1 --clusterprofile-provider-file providers.yaml > spoke-1.yaml',
    },
    {
      what: 'all of them, for kubectl --context',
      args: 'kubeconfig -A --merge ~/.kube/config --clusterprofile-provider-file providers.yaml',
    },
    {
      what: 'a sidecar that keeps a file for other programs',
      args: "kubeconfig -n fleet --merge /shared/config --prune --watch --context-name '{name}' --from-pod-args fleet-system/deployment/fleet",
    },
  ],
  load: () => import('../verbs/kubeconfig.ts'),
};

export const credential: Verb = {
  name: 'credential',
  arguments: '[NAME]',
  completes: 'profiles',
  summary: "print a cluster's credential for kubectl, helm and the like: an exec plugin",
  description:
    'An exec plugin for kubectl, helm, k9s, Terraform and other clients of a kubeconfig. It runs the plugin of the cluster under the rules of its provider, and prints an ExecCredential in the version that the client requests. The verb "kubeconfig" writes kubeconfigs that use it.',
  options: [
    ...oneProfileOptions,
    ...providerOptions,
    { flags: '--show', about: 'print the credential on a terminal too' },
    { flags: '--cache', about: 'cache the credential on disk until a minute before it expires' },
    { flags: '--forget', about: 'only remove the cached credential of that ClusterProfile, or all of them' },
  ],
  takesProviderFlags: true,
  runsPlugins: true,
  examples: [
    {
      what: 'what a kubeconfig execs',
      args: 'credential fleet/spoke-1 --clusterprofile-provider-file /etc/clusterprofile/providers.yaml',
    },
    { what: 'after a credential was revoked', args: 'credential --forget fleet/spoke-1' },
  ],
  load: () => import('../verbs/credential.ts'),
};

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
    {
      flags: '--from-kubeconfig <file>',
      about: 'publish the contexts of this kubeconfig',
      completes: 'files',
    },
    {
      flags: '--context <pattern>',
      about: 'only contexts of this name, a * stands for any characters; may be repeated',
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
    },
    { flags: '--cluster-role <name>', about: 'with --service-account: what it may do' },
    {
      flags: '--token-lifetime <duration>',
      about: 'with --service-account: how long its token is valid (default: 720h)',
    },
    { flags: '--allow-insecure-tls', about: 'publish clusters with insecure-skip-tls-verify too' },
    {
      flags: '--cluster-manager <name>',
      about: 'spec.clusterManager.name of the ClusterProfiles (default: clusterprofile-publish)',
    },
    {
      flags: '--name-pattern <pattern>',
      about: 'the names of the ClusterProfiles: {context}, {cluster}; for Cluster API {cluster}, {namespace}',
    },
    { flags: '--skip-health', about: 'do not connect to the clusters, and leave their health as it is' },
    { flags: '--prune', about: 'delete ClusterProfiles of this cluster manager whose clusters have left the source' },
    { flags: '-w, --watch', about: 'keep running, and keep everything up to date' },
    { flags: '--interval <duration>', about: 'with --watch: the pause between rounds (default: 60s)' },
    { flags: '--metrics-port <port>', about: 'with --watch: serve /metrics and /healthz on this port' },
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
