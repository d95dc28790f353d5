/**
 * The table of verbs. To add one:
 *
 * 1. Add an entry here: what it is called, what it takes, two or three examples. `option-groups.ts` has options that others have.
 *    Nothing that takes time to load is imported here: `load` imports the verb's own file when it is called.
 * 2. Write `verbs/NAME.ts`, which exports `run(call)`. It gets what was given as `call.args`, `call.options` and `call.command`,
 *    reads profiles with `profilesOf(call)` and providers with `providersOf(call)`, writes to `call.terminal`, ends when
 *    `call.signal` aborts, and returns an exit code of `exit-codes.ts`.
 * 3. What cannot be done throws a `Failure` (message, hint, exit code) or an error of the library: `main.ts` prints it, once.
 * 4. Test it as a process, with `runProgram` of test/fixtures/program.ts; write its chapter in docs/command-line.md.
 */
import { hubOptions, outputOptions, profileOptions, providerOptions } from './option-groups.ts';
import type { Verb } from './verb.ts';

export const verbs: readonly Verb[] = [
  {
    name: 'get',
    arguments: '[NAME...]',
    completes: 'profiles',
    summary: 'list ClusterProfiles, and the access provider that would serve each',
    description:
      'Lists ClusterProfiles: their cluster manager, whether the control plane is healthy, the access types they offer, and the provider that would serve each, or why none would.',
    options: [
      ...profileOptions,
      ...providerOptions,
      { flags: '-w, --watch', about: 'go on with a line for each change' },
      ...outputOptions('json', 'yaml', 'wide', 'name', 'jsonpath=', 'custom-columns='),
      {
        flags: '-L, --label-columns <labels>',
        about: 'columns for these labels: env,tier',
        multiple: true,
        completes: 'nothing',
      },
      { flags: '--show-labels', about: 'a column with all labels' },
      {
        flags: '--sort-by <path>',
        about: 'in the order of a field: .metadata.creationTimestamp',
        completes: 'nothing',
      },
      {
        flags: '--field-selector <fields>',
        about: 'ClusterProfiles with these fields: metadata.name!=spoke-1',
        completes: 'nothing',
      },
      { flags: '--ignore-not-found', about: 'no error for a name that does not exist' },
    ],
    takesProviderFlags: true,
    examples: [
      { what: 'the ClusterProfiles of all namespaces', args: 'get -A' },
      { what: 'fields of the objects, as with kubectl', args: "get -A -o jsonpath='{.items[*].metadata.name}'" },
      { what: 'what the controller makes of them', args: 'get -A --from-pod-args fleet-system/deployment/fleet' },
      { what: 'their names, for a script', args: 'get -A -l env=prod -o name' },
    ],
    load: () => import('./verbs/get.ts'),
  },
  {
    name: 'check',
    arguments: '[NAME...]',
    completes: 'profiles',
    summary: 'find out what stands between the controller and its clusters',
    description:
      'Follows a request on its way to each cluster, stage by stage: its profile, the provider, the plugin, the proxy, the connection, authentication, identity, version, whether the API server is ready, and permissions. A stage that fails says why and what to do. Plugins run as the controller would run them, and nothing is changed anywhere.',
    options: [
      ...profileOptions,
      ...providerOptions,
      {
        flags: '--timeout <duration>',
        about: 'stop the check of a cluster after this time (default: 60s)',
        completes: 'nothing',
      },
      { flags: '--parallel <number>', about: 'clusters that are checked at once (default: 10)', completes: 'nothing' },
      {
        flags: '--can-i <right>',
        about: "fail where the identity may not: 'list pods -n shop', 'get deployments.apps/web'; may be repeated",
        multiple: true,
        completes: 'nothing',
      },
      { flags: '-q, --failed-only', about: 'print the clusters that fail' },
      { flags: '-w, --watch', about: 'check again and again, and print what changes' },
      { flags: '--interval <duration>', about: 'the pause of --watch (default: 60s)', completes: 'nothing' },
      ...outputOptions('json', 'yaml', 'name'),
    ],
    takesProviderFlags: true,
    examples: [
      {
        what: 'every cluster of the hub, with what the controller runs with',
        args: 'check -A --from-pod-args fleet-system/deployment/fleet',
      },
      { what: 'one of them', args: 'check fleet/spoke-1 --clusterprofile-provider-file providers.yaml' },
      {
        what: 'whether the controller has its rights everywhere',
        args: `check -A --can-i 'list namespaces' --can-i 'create deployments.apps -n shop' --clusterprofile-provider-file providers.yaml`,
      },
      {
        what: 'the names of those that fail, for a script',
        args: 'check -A --failed-only -o name --clusterprofile-provider-file providers.yaml',
      },
    ],
    load: () => import('./verbs/check.ts'),
  },
  {
    name: 'resolve',
    arguments: '<NAME>',
    completes: 'profiles',
    summary: 'show what a ClusterProfile and the providers make of each other',
    description:
      'Shows which provider serves a ClusterProfile, and with what: server, command, arguments, and everything that the profile asks for and does not get. Runs nothing. Values of environment variables are not shown.',
    options: [
      ...profileOptions.filter(({ flags }) => !/^-[Al],/.test(flags)),
      ...providerOptions,
      ...outputOptions('json', 'yaml'),
    ],
    takesProviderFlags: true,
    examples: [
      { what: 'a profile of the hub', args: 'resolve spoke-1 -n fleet --clusterprofile-provider-file providers.yaml' },
      { what: 'without a hub', args: 'resolve spoke-1 -f profiles.yaml --clusterprofile-provider-file providers.yaml' },
    ],
    load: () => import('./verbs/resolve.ts'),
  },
  {
    name: 'lint',
    arguments: '[FILE...]',
    completes: 'files',
    summary: 'check provider files, ClusterProfiles and manifests of controllers, before they are used',
    description:
      'Checks provider files, ClusterProfiles, Deployments and other workloads (their --clusterprofile-* flags, and the provider files that are mounted from a ConfigMap) and image credential configs: problems with their lines and columns, and advice. ClusterProfiles are checked with the providers of the other files, up to the first problem of each access provider. - is stdin. Nothing is run, and no cluster is asked.',
    options: [
      { flags: '-o, --output <format>', about: 'another output', choices: ['json', 'sarif'] },
      {
        flags: '--fail-on <severity>',
        about: 'end with 3 from this on (default: error)',
        choices: ['error', 'warning', 'note'],
      },
    ],
    takesProviderFlags: true,
    examples: [
      { what: 'a provider file', args: 'lint providers.yaml' },
      { what: 'all that is deployed, strictly', args: 'lint --fail-on warning deploy/*.yaml' },
      { what: 'for the code host of a CI', args: 'lint -o sarif deploy/*.yaml > lint.sarif' },
    ],
    load: () => import('./verbs/lint.ts'),
  },
  {
    name: 'run-plugin',
    summary: 'run a credential plugin as a client would, and say what is wrong with its answer',
    description:
      'Runs a credential plugin as a client would, with KUBERNETES_EXEC_INFO from the options, and says what it answers and everything that is wrong with it. The credential itself is never shown. For plugin authors.',
    options: [
      {
        flags: '--api-version <version>',
        about: 'the version to ask in (default: v1)',
        choices: ['v1', 'v1beta1', 'v1alpha1'],
      },
      {
        flags: '--server <url>',
        about: 'spec.cluster.server; without any such option there is no spec.cluster',
        completes: 'nothing',
      },
      { flags: '--certificate-authority <file>', about: 'PEM, for spec.cluster', completes: 'files' },
      { flags: '--tls-server-name <name>', about: 'for spec.cluster', completes: 'nothing' },
      { flags: '--proxy-url <url>', about: 'for spec.cluster', completes: 'nothing' },
      { flags: '--insecure-skip-tls-verify', about: 'for spec.cluster' },
      {
        flags: '--config <json>',
        about: "spec.cluster.config, a profile's exec extension: JSON, or @file",
        completes: 'files',
      },
      {
        flags: '--interactive-mode <mode>',
        about: 'whether it may ask on this terminal (default: Never)',
        choices: ['Never', 'IfAvailable', 'Always'],
      },
      {
        flags: '--env <name=value>',
        about: 'a variable beside those of this shell; may be repeated',
        multiple: true,
        completes: 'nothing',
      },
      { flags: '--clean-environment', about: 'only PATH, HOME and --env, as --clusterprofile-clean-environment does' },
      { flags: '--timeout <duration>', about: 'until it is killed (default: 60s)', completes: 'nothing' },
      ...outputOptions('json', 'yaml'),
    ],
    takesCommand: true,
    examples: [
      { what: 'a plugin that needs nothing', args: 'run-plugin -- gke-gcloud-auth-plugin' },
      {
        what: 'one that reads the cluster',
        args: `run-plugin --server https://h:6443 --config '{"clusterName":"spoke-1"}' -- ./secretreader --namespace fleet`,
      },
    ],
    load: () => import('./verbs/run-plugin.ts'),
  },
  {
    name: 'kubeconfig',
    arguments: '[NAME...]',
    completes: 'profiles',
    summary: 'write a kubeconfig with a context for each cluster',
    description:
      'Writes a kubeconfig with a context for each ClusterProfile, named NAMESPACE/NAME@HUB if --context-name does not say otherwise. Its users exec "clusterprofile credential" with the same hub and the same flags, so there is no credential in it. A cluster that no provider serves is left out, and stderr says so.',
    options: [
      ...profileOptions,
      ...providerOptions,
      {
        flags: '--merge <file>',
        about: 'put the contexts into this kubeconfig, and leave all else in it as it is',
        completes: 'files',
      },
      { flags: '--cache', about: 'have credentials kept on disk until a minute before they expire' },
      { flags: '--prune', about: 'with --merge: take the contexts of ClusterProfiles out that are gone from this hub' },
      { flags: '-w, --watch', about: 'with --merge: go on, and keep the file as the hub is' },
      { flags: '--use <name>', about: "make this ClusterProfile's context the current one", completes: 'profiles' },
      {
        flags: '--context-name <template>',
        about: 'how contexts are called, by {namespace}, {name} and {hub} (default: {namespace}/{name}@{hub})',
        completes: 'nothing',
      },
      {
        flags: '--command <command>',
        about: 'what the users exec (default: this very program, by its absolute path)',
        completes: 'files',
      },
      { flags: '-o, --output <format>', about: 'another output', choices: ['json', 'yaml'] },
    ],
    takesProviderFlags: true,
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
    load: () => import('./verbs/kubeconfig.ts'),
  },
  {
    name: 'use',
    arguments: '<NAME>',
    completes: 'profiles',
    summary: "make a ClusterProfile's context the current one",
    description:
      'Makes the context that "kubeconfig --merge" wrote for a ClusterProfile the current one, in the file in which kubectl config use-context would.',
    options: hubOptions
      .filter(({ flags }) => flags.startsWith('--kubeconfig'))
      .map((option) => ({
        ...option,
        about: 'the kubeconfig (default: what kubectl would use)',
      })),
    examples: [{ what: 'from now on kubectl asks this cluster', args: 'use fleet/spoke-1' }],
    load: () => import('./verbs/use.ts'),
  },
  {
    name: 'credential',
    arguments: '[NAME]',
    completes: 'profiles',
    summary: "print a cluster's credential for kubectl, helm and the like: an exec plugin",
    description:
      'An exec plugin for kubectl, helm, k9s, Terraform and other clients of a kubeconfig: runs the plugin of the cluster as its provider says, and prints an ExecCredential in the version that the client asks for. "kubeconfig" writes kubeconfigs that use it.',
    options: [
      ...profileOptions.filter(({ flags }) => !/^-[Al],/.test(flags)),
      ...providerOptions,
      { flags: '--show', about: 'print the credential on a terminal too' },
      { flags: '--cache', about: 'keep the credential on disk until a minute before it expires' },
      { flags: '--forget', about: 'remove what --cache has kept for that ClusterProfile, or all, and do nothing else' },
    ],
    takesProviderFlags: true,
    examples: [
      {
        what: 'what a kubeconfig execs',
        args: 'credential fleet/spoke-1 --clusterprofile-provider-file /etc/clusterprofile/providers.yaml',
      },
      { what: 'after a credential was revoked', args: 'credential --forget fleet/spoke-1' },
    ],
    load: () => import('./verbs/credential.ts'),
  },
  {
    name: 'exec',
    arguments: '[NAME...]',
    completes: 'profiles',
    summary: 'run a command once for each cluster, side by side',
    description:
      'Runs a command once for each ClusterProfile, with a KUBECONFIG of that cluster, and CLUSTERPROFILE_NAME and CLUSTERPROFILE_NAMESPACE. Each line of its output has the cluster in front. Its stdin is empty. Ctrl-C ends the commands as it would at a terminal. Pressed twice, it kills them and all that is in their process groups.',
    options: [
      ...profileOptions,
      ...providerOptions,
      { flags: '--parallel <number>', about: 'commands that run at once (default: 10)', completes: 'nothing' },
      { flags: '--timeout <duration>', about: 'end a command after this time (default: none)', completes: 'nothing' },
      { flags: '--no-prefix', about: 'leave the cluster in front of each line out' },
    ],
    takesProviderFlags: true,
    takesCommand: true,
    hasCommands: true,
    examples: [
      {
        what: 'the nodes of every production cluster',
        args: 'exec -A -l env=prod --clusterprofile-provider-file providers.yaml -- kubectl get nodes',
      },
      {
        what: 'one cluster after the other',
        args: `exec -A --parallel 1 --from-pod-args fleet-system/deployment/fleet -- sh -c 'kubectl apply -f policy.yaml'`,
      },
    ],
    load: () => import('./verbs/exec.ts'),
  },
  {
    name: 'shards',
    arguments: '[FLEET]',
    summary: 'show which replica of a controller works on which clusters',
    description:
      "Shows the shards of fleets whose controllers run in several replicas, from the Leases on the hub: owner, state, last renewal, and how many ClusterProfiles are in each. They are counted by NAMESPACE/NAME, which is right for fleets without the option identify. This machine's clock decides whether a Lease has expired.",
    options: [
      ...profileOptions.filter(({ flags }) => !/^-[lf],/.test(flags)),
      ...outputOptions('json', 'yaml', 'wide'),
    ],
    examples: [
      { what: 'the fleets whose Leases are in a namespace', args: 'shards -n fleet-system' },
      { what: 'one of them, with the names of the clusters', args: 'shards fleet -n fleet-system -o wide' },
    ],
    load: () => import('./verbs/shards.ts'),
  },
  {
    name: 'explain',
    arguments: '[CODE]',
    completes: 'nothing',
    summary: 'say what the code of an error means, why it happens and what to do',
    description:
      'Prints what docs/errors.md says about the code of an error, as it stands in brackets before the message. Without a code, all codes.',
    options: [],
    examples: [{ what: 'error [PLUGIN_NOT_FOUND]: ...', args: 'explain PLUGIN_NOT_FOUND' }],
    load: () => import('./verbs/explain.ts'),
  },
  {
    name: 'version',
    summary: 'print the versions of this program and of Node',
    options: [...outputOptions('json', 'yaml')],
    examples: [{ what: 'for a bug report', args: 'version' }],
    load: () => import('./verbs/version.ts'),
  },
  {
    name: 'completion',
    arguments: '<SHELL>',
    completes: 'shells',
    summary: 'print the script that makes bash, zsh or fish complete command lines',
    description:
      'Prints a script for bash, zsh or fish. With it the shell completes verbs, options, their values, and the names of ClusterProfiles, namespaces and contexts. kubectl completes `kubectl clusterprofile` by itself, where kubectl_complete-clusterprofile is in PATH.',
    options: [],
    examples: [
      { what: 'bash: in ~/.bashrc', args: 'completion bash > ~/.clusterprofile.bash && . ~/.clusterprofile.bash' },
      { what: 'zsh: in a folder of fpath, before compinit', args: 'completion zsh > ~/.zfunc/_clusterprofile' },
      { what: 'fish', args: 'completion fish > ~/.config/fish/completions/clusterprofile.fish' },
    ],
    load: () => import('./verbs/completion.ts'),
  },
];
