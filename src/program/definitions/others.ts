/** Verbs for authors of providers, manifests and plugins, and verbs about the program itself. */

import { outputOptions, type Verb } from '../verb.ts';

export const lint: Verb = {
  name: 'lint',
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
  load: () => import('../verbs/lint.ts'),
};

export const runPlugin: Verb = {
  name: 'run-plugin',
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
  load: () => import('../verbs/run-plugin.ts'),
};

export const explain: Verb = {
  name: 'explain',
  arguments: '[CODE]',
  summary: 'explain an error code: what it means, why it happens and what to do',
  description:
    'Prints what docs/errors-*.md say of an error code, which messages have in brackets. Without a code it lists all codes.',
  options: {},
  examples: { 'error [PLUGIN_NOT_FOUND]: ...': 'explain PLUGIN_NOT_FOUND' },
  load: () => import('../verbs/explain.ts'),
};

export const version: Verb = {
  name: 'version',
  summary: 'print the versions of this program and of Node',
  description: 'Prints what a bug report needs: the versions of this program and of Node, and the platform.',
  options: { ...outputOptions('json', 'yaml') },
  examples: { 'for a bug report': 'version' },
  load: () => import('../verbs/version.ts'),
};

export const completion: Verb = {
  name: 'completion',
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
  load: () => import('../verbs/completion.ts'),
};
