/** Verbs for clients of a kubeconfig: kubectl, helm, k9s and the like. */
import { profileOptions, providerOptions } from '../option-groups.ts';
import type { Verb } from '../verb.ts';

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
      completes: 'nothing',
    },
    {
      flags: '--command <command>',
      about: 'the command that the users exec (default: this program, by its absolute path)',
      completes: 'files',
    },
    { flags: '-o, --output <format>', about: 'output format', choices: ['json', 'yaml'] },
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
    ...profileOptions.filter(({ flags }) => !/^-[Al],/.test(flags)),
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
