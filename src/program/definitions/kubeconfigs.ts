/** The verbs that write kubeconfigs and ClusterProfiles: kubeconfig, credential, exec and publish. */

import { hubOptionsBy, oneProfileOptions, outputOptions, profileOptions, providerOptions, type Verb } from '../verb.ts';

export const kubeconfig: Verb = {
  name: 'kubeconfig',
  arguments: '[NAME...]',
  summary: 'write a kubeconfig with a context for each cluster',
  description:
    'Writes a kubeconfig with a context for each ClusterProfile, named NAMESPACE/NAME@HUB unless --context-name sets another pattern. Its users exec "clusterprofile credential" with the same hub and the same flags, so it holds no credential. A cluster that no provider serves is left out and reported on stderr.',
  options: {
    ...profileOptions,
    ...providerOptions,
    '--merge <file>': 'write the contexts into this kubeconfig, and change nothing else in it',
    '--cache': 'cache credentials on disk until a minute before they expire',
    '--prune': 'with --merge: remove the contexts of ClusterProfiles that are gone from this hub',
    '-w, --watch': 'with --merge: keep running, and keep the file up to date',
    '--use <profile>': "make this ClusterProfile's context the current one",
    '--context-name <template>':
      'the names of the contexts, with {namespace}, {name} and {hub} (default: {namespace}/{name}@{hub})',
    '--command <command>': 'the command that the users exec (default: this program, by its absolute path)',
    ...outputOptions('json', 'yaml'),
  },
  takesProviderFlags: true,
  runsPlugins: true,
  examples: {
    'one cluster, for a while': 'kubeconfig fleet/spoke-1 --clusterprofile-provider-file providers.yaml > spoke-1.yaml',
    'all of them, for kubectl --context':
      'kubeconfig -A --merge ~/.kube/config --clusterprofile-provider-file providers.yaml',
    'a sidecar that keeps a file for other programs':
      "kubeconfig -n fleet --merge /shared/config --prune --watch --context-name '{name}' --from-pod-args fleet-system/deployment/fleet",
  },
  load: () => import('../verbs/kubeconfig.ts'),
};

export const credential: Verb = {
  name: 'credential',
  arguments: '[NAME]',
  summary: "print a cluster's credential for kubectl, helm and the like: an exec plugin",
  description:
    'An exec plugin for kubectl, helm, k9s, Terraform and other clients of a kubeconfig. It runs the plugin of the cluster under the rules of its provider, and prints an ExecCredential in the version that the client requests. The verb "kubeconfig" writes kubeconfigs that use it.',
  options: {
    ...oneProfileOptions,
    ...providerOptions,
    '--show': 'print the credential on a terminal too',
    '--cache': 'cache the credential on disk until a minute before it expires',
    '--forget': 'only remove the cached credential of that ClusterProfile, or all of them',
  },
  takesProviderFlags: true,
  runsPlugins: true,
  examples: {
    'what a kubeconfig execs':
      'credential fleet/spoke-1 --clusterprofile-provider-file /etc/clusterprofile/providers.yaml',
    'after a credential was revoked': 'credential --forget fleet/spoke-1',
  },
  load: () => import('../verbs/credential.ts'),
};

export const publish: Verb = {
  name: 'publish',
  summary: 'make ClusterProfiles of the contexts of a kubeconfig, or of the clusters of Cluster API',
  description:
    'Writes a ClusterProfile to the hub for each cluster of a source, and the provider file that reaches them. A run that changes nothing writes nothing. ClusterProfiles of other cluster managers are left alone, and no ClusterProfile, provider file or output holds a credential.',
  options: {
    '--from-kubeconfig <file>': 'publish the contexts of this kubeconfig',
    '--context <context>': 'only contexts of this name, a * stands for any characters; may be repeated',
    '--from-cluster-api': 'publish the clusters whose kubeconfigs Cluster API keeps on the hub',
    '-A, --all-namespaces': 'with --from-cluster-api: clusters in all namespaces',
    '--providers <file>': 'the provider file to write; what is in it is kept',
    '--force': 'widen providers that are in the file already',
    '--write-secrets <namespace>': 'write tokens and client certificates into Secrets in this namespace of the hub',
    '--service-account <name>':
      'create this service account ([NAMESPACE/]NAME) on each cluster, and publish its token instead',
    '--cluster-role <name>': 'with --service-account: what it may do',
    '--token-lifetime <duration>': 'with --service-account: how long its token is valid (default: 720h)',
    '--allow-insecure-tls': 'publish clusters with insecure-skip-tls-verify too',
    '--cluster-manager <name>': 'spec.clusterManager.name of the ClusterProfiles (default: clusterprofile-publish)',
    '--name-pattern <pattern>':
      'the names of the ClusterProfiles: {context}, {cluster}; for Cluster API {cluster}, {namespace}',
    '--skip-health': 'do not connect to the clusters, and leave their health as it is',
    '--prune': 'delete ClusterProfiles of this cluster manager whose clusters have left the source',
    '-w, --watch': 'keep running, and keep everything up to date',
    '--interval <duration>': 'with --watch: the pause between rounds (default: 60s)',
    '--metrics-port <port>': 'with --watch: serve /metrics and /healthz on this port',
    '--dry-run': 'show what would be written, and write nothing',
    // `--context` names contexts of the source here.
    ...hubOptionsBy('hub-context'),
    ...outputOptions('json', 'yaml', 'name'),
  },
  runsPlugins: true,
  examples: {
    'contexts whose users have an exec plugin':
      "publish --from-kubeconfig ~/.kube/config --context 'prod-*' -n fleet --providers providers.yaml",
    'contexts of an administrator: an identity of its own on each cluster':
      'publish --from-kubeconfig ~/.kube/config -n fleet --providers providers.yaml --service-account fleet-controller --cluster-role edit',
    'the clusters of Cluster API, for ever': 'publish --from-cluster-api -A --providers providers.yaml --watch --prune',
  },
  load: () => import('../verbs/publish.ts'),
};
