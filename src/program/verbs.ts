/**
 * The table of verbs. To add one:
 *
 * 1. Define it here: what it is called, what it takes, two or three examples. `verb.ts` has options that others have. Nothing that takes
 *    time to load is imported: `load` imports the verb's own file when it is called.
 * 2. Write `verbs/NAME.ts`, which exports `run(call)`. It gets what was given as `call.args`, `call.options` and `call.command`,
 *    reads profiles with `profilesOf(call)` and providers with `providersOf(call)`, writes to `call.terminal`, ends when
 *    `call.signal` aborts, and returns an exit code of `failure.ts`.
 * 3. What cannot be done throws a `Failure` (message, hint, exit code) or an error of the library: `main.ts` prints it, once.
 * 4. Test it as a process, with `runProgram` of test/fixtures/program.ts; write its chapter in docs/command-line.md.
 */
import {
  hubOptions,
  hubOptionsBy,
  oneProfileOptions,
  outputOptions,
  profileOptions,
  providerOptions,
  type Verb,
} from './verb.ts';

/** By their names, in the order of the help. */
const table: Readonly<Record<string, Omit<Verb, 'name'>>> = {
  get: {
    alsoCalled: ['list', 'ls'],
    arguments: '[NAME...]',
    summary: 'list ClusterProfiles, and the access provider that would serve each',
    description:
      'Lists ClusterProfiles: cluster manager, health of the control plane, access types, and the access provider that would serve each, or why none would.',
    options: {
      ...profileOptions,
      ...providerOptions,
      '-w, --watch': 'keep running, with a line for each change',
      ...outputOptions('json', 'yaml', 'wide', 'name'),
      '--field-selector <fields>': 'ClusterProfiles with these fields: metadata.name!=spoke-1',
      '--ignore-not-found': 'no error for a name that does not exist',
    },
    takesProviderFlags: true,
    examples: {
      'the ClusterProfiles in all namespaces': 'get -A',
      'with the providers of the controller': 'get -A --from-pod-args fleet-system/deployment/fleet',
      'their names, for a script': 'get -A -l env=prod -o name',
    },
    load: () => import('./verbs/get.ts'),
  },
  check: {
    alsoCalled: ['test', 'doctor', 'status'],
    arguments: '[NAME...]',
    summary: 'find out why a controller cannot reach its clusters',
    description:
      'Follows a request to each cluster, stage by stage: profile, provider, plugin, proxy, connection, authentication, identity, version, readiness and permissions. A stage that fails prints the reason and the next step. Plugins run as the controller would run them. Nothing is changed.',
    options: {
      ...profileOptions,
      ...providerOptions,
      '--timeout <duration>': 'stop the check of a cluster after this time (default: 60s)',
      '--parallel <number>': 'clusters checked at once (default: 10)',
      '--can-i <right>':
        "fail if the identity may not: 'list pods -n shop', 'get deployments.apps/web'; may be repeated",
      '-q, --failed-only': 'print only the clusters that fail',
      '-w, --watch': 'repeat the check, and print what changes',
      '--interval <duration>': 'the pause between checks (default: 60s)',
      ...outputOptions('json', 'yaml', 'wide', 'name'),
    },
    takesProviderFlags: true,
    runsPlugins: true,
    examples: {
      'every cluster of the hub, with the flags of the controller':
        'check -A --from-pod-args fleet-system/deployment/fleet',
      'one of them': 'check fleet/spoke-1 --clusterprofile-provider-file providers.yaml',
      'whether the controller has its permissions everywhere': `check -A --can-i 'list namespaces' --can-i 'create deployments.apps -n shop' --clusterprofile-provider-file providers.yaml`,
      'the names of those that fail, for a script':
        'check -A --failed-only -o name --clusterprofile-provider-file providers.yaml',
    },
    load: () => import('./verbs/check.ts'),
  },
  resolve: {
    arguments: '<NAME>',
    summary: 'show which provider serves a ClusterProfile, with its server, command and arguments',
    description:
      'Shows which provider serves a ClusterProfile: server, command, arguments, and the settings of the profile that are ignored. No plugin runs. Values of environment variables are not shown.',
    options: { ...oneProfileOptions, ...providerOptions, ...outputOptions('json', 'yaml') },
    takesProviderFlags: true,
    examples: {
      'a profile of the hub': 'resolve spoke-1 -n fleet --clusterprofile-provider-file providers.yaml',
      'without a hub': 'resolve spoke-1 -f profiles.yaml --clusterprofile-provider-file providers.yaml',
    },
    load: () => import('./verbs/resolve.ts'),
  },
  lint: {
    arguments: '[FILE...]',
    summary: 'check provider files, ClusterProfiles and controller manifests before you deploy them',
    description:
      'Checks provider files, also in a ConfigMap, ClusterProfiles, and the --clusterprofile-* flags of Deployments and other workloads. Prints each problem with its line and column. ClusterProfiles are checked against the providers in the other files, up to the first problem of each access provider. - is stdin. No plugin runs, and no cluster is contacted.',
    options: {
      ...outputOptions('json', 'yaml'),
      '--fail-on <error|warning|note>': 'exit with 3 from this severity on (default: error)',
    },
    takesProviderFlags: true,
    examples: {
      'a provider file': 'lint providers.yaml',
      'everything that is deployed, strictly': 'lint --fail-on warning deploy/*.yaml',
    },
    load: () => import('./verbs/lint.ts'),
  },
  'run-plugin': {
    summary: 'run a credential plugin as a client would, and validate its output',
    description:
      'For plugin authors. Runs a credential plugin as a client would, with KUBERNETES_EXEC_INFO from the options. Prints and validates its output, but never the credential.',
    options: {
      '--api-version <v1|v1beta1|v1alpha1>': 'the API version of the request (default: v1)',
      '--server <url>': 'spec.cluster.server; without any such option there is no spec.cluster',
      '--certificate-authority <file>': 'PEM, for spec.cluster',
      '--config <json>': "spec.cluster.config, a profile's exec extension",
      '--interactive-mode <Never|IfAvailable|Always>': 'whether it may prompt on this terminal (default: Never)',
      '--clean-environment': 'only PATH and HOME, as --clusterprofile-clean-environment does',
      '--timeout <duration>': 'kill it after this time (default: 60s)',
      ...outputOptions('json', 'yaml'),
    },
    takesCommand: true,
    examples: {
      'a plugin that needs nothing': 'run-plugin -- gke-gcloud-auth-plugin',
      'a plugin that reads the cluster': `run-plugin --server https://h:6443 --config '{"clusterName":"spoke-1"}' -- ./secretreader --namespace fleet`,
    },
    load: () => import('./verbs/run-plugin.ts'),
  },
  kubeconfig: {
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
      'one cluster, for a while':
        'kubeconfig fleet/spoke-1 --clusterprofile-provider-file providers.yaml > spoke-1.yaml',
      'all of them, for kubectl --context':
        'kubeconfig -A --merge ~/.kube/config --clusterprofile-provider-file providers.yaml',
      'a sidecar that keeps a file for other programs':
        "kubeconfig -n fleet --merge /shared/config --prune --watch --context-name '{name}' --from-pod-args fleet-system/deployment/fleet",
    },
    load: () => import('./verbs/kubeconfig.ts'),
  },
  credential: {
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
    load: () => import('./verbs/credential.ts'),
  },
  exec: {
    arguments: '[NAME...]',
    summary: 'run a command once for each cluster, side by side',
    description:
      'Runs a command once for each ClusterProfile. KUBECONFIG is a kubeconfig of that cluster; CLUSTERPROFILE_NAME and CLUSTERPROFILE_NAMESPACE are set too. Each line of output starts with the name of the cluster. The stdin of the command is empty. Ctrl-C interrupts the commands; a second Ctrl-C kills their process groups.',
    options: {
      ...profileOptions,
      ...providerOptions,
      '--parallel <number>': 'commands that run at once (default: 10)',
      '--timeout <duration>': 'end a command after this time (default: none)',
      '--no-prefix': 'omit the cluster at the start of each line',
    },
    takesProviderFlags: true,
    runsPlugins: true,
    takesCommand: true,
    hasCommands: true,
    examples: {
      'the nodes of every production cluster':
        'exec -A -l env=prod --clusterprofile-provider-file providers.yaml -- kubectl get nodes',
      'one cluster after the other': `exec -A --parallel 1 --from-pod-args fleet-system/deployment/fleet -- sh -c 'kubectl apply -f policy.yaml'`,
    },
    load: () => import('./verbs/exec.ts'),
  },
  publish: {
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
      'the clusters of Cluster API, for ever':
        'publish --from-cluster-api -A --providers providers.yaml --watch --prune',
    },
    load: () => import('./verbs/publish.ts'),
  },
  shards: {
    summary: 'show which replica of a controller works on which clusters',
    description:
      "Shows the shards of sharded fleets from the Leases on the hub: owner, state, last renewal and number of ClusterProfiles. The shard of each is computed from NAMESPACE/NAME; if several describe one cluster, that of the oldest counts. This machine's clock decides whether a Lease has expired.",
    options: {
      ...hubOptions,
      '-A, --all-namespaces': 'Leases in all namespaces',
      ...outputOptions('json', 'yaml', 'wide'),
    },
    examples: {
      'the fleets whose Leases are in a namespace': 'shards -n fleet-system',
      'with the names of the clusters': 'shards -n fleet-system -o wide',
    },
    load: () => import('./verbs/shards.ts'),
  },
  explain: {
    arguments: '[CODE]',
    summary: 'explain an error code: what it means, why it happens and what to do',
    description:
      'Prints what docs/errors-*.md say of an error code, which messages have in brackets. Without a code it lists all codes.',
    options: {},
    examples: { 'error [PLUGIN_NOT_FOUND]: ...': 'explain PLUGIN_NOT_FOUND' },
    load: () => import('./verbs/explain.ts'),
  },
  version: {
    summary: 'print the versions of this program and of Node',
    description: 'Prints what a bug report needs: the versions of this program and of Node, and the platform.',
    options: { ...outputOptions('json', 'yaml') },
    examples: { 'for a bug report': 'version' },
    load: () => import('./verbs/version.ts'),
  },
  completion: {
    arguments: '<SHELL>',
    summary: 'print the script that makes bash, zsh or fish complete command lines',
    description:
      'Prints a script for bash, zsh or fish. With it the shell completes verbs, options, their values, and the names of ClusterProfiles, namespaces and contexts. kubectl completes `kubectl clusterprofile` by itself if kubectl_complete-clusterprofile is in PATH.',
    options: {},
    examples: {
      'bash: in ~/.bashrc': 'completion bash > ~/.clusterprofile.bash && . ~/.clusterprofile.bash',
      'zsh: in a folder of fpath, before compinit': 'completion zsh > ~/.zfunc/_clusterprofile',
      fish: 'completion fish > ~/.config/fish/completions/clusterprofile.fish',
    },
    load: () => import('./verbs/completion.ts'),
  },
};

export const verbs: readonly Verb[] = Object.entries(table).map(([name, verb]) => ({ name, ...verb }));
