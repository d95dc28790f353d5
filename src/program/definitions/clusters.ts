/** Verbs that say something of the clusters, or do something in each. */

import { hubOptions, oneProfileOptions, outputOptions, profileOptions, providerOptions, type Verb } from '../verb.ts';

export const get: Verb = {
  name: 'get',
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
  load: () => import('../verbs/get.ts'),
};

export const check: Verb = {
  name: 'check',
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
    '--can-i <right>': "fail if the identity may not: 'list pods -n shop', 'get deployments.apps/web'; may be repeated",
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
  load: () => import('../verbs/check.ts'),
};

export const resolve: Verb = {
  name: 'resolve',
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
  load: () => import('../verbs/resolve.ts'),
};

export const exec: Verb = {
  name: 'exec',
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
  load: () => import('../verbs/exec.ts'),
};

export const shards: Verb = {
  name: 'shards',
  summary: 'show which replica of a controller works on which clusters',
  description:
    "Shows the shards of sharded fleets from the Leases on the hub: owner, state, last renewal and number of ClusterProfiles. A cluster's shard is computed from NAMESPACE/NAME, which is wrong for fleets with the option identify. This machine's clock decides whether a Lease has expired.",
  options: {
    ...hubOptions,
    '-A, --all-namespaces': 'Leases in all namespaces',
    ...outputOptions('json', 'yaml', 'wide'),
  },
  examples: {
    'the fleets whose Leases are in a namespace': 'shards -n fleet-system',
    'with the names of the clusters': 'shards -n fleet-system -o wide',
  },
  load: () => import('../verbs/shards.ts'),
};
