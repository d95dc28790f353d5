/** Options that several verbs have, so that each means the same everywhere. */
import type { OptionSpec } from './verb.ts';

/** Which hub, and what of it. `profiles.ts` reads them. */
export const hubOptions: readonly OptionSpec[] = [
  { flags: '--kubeconfig <file>', about: "the hub's kubeconfig (default: what kubectl would use)", completes: 'files' },
  { flags: '--context <name>', about: 'the context to use (default: the current one)', completes: 'contexts' },
  { flags: '--as <user>', about: 'the user to impersonate on the hub', completes: 'nothing' },
  {
    flags: '--as-group <group>',
    about: 'a group to impersonate on the hub; may be repeated',
    multiple: true,
    completes: 'nothing',
  },
  {
    flags: '-n, --namespace <name>',
    about: "the ClusterProfiles' namespace (default: the context's)",
    completes: 'namespaces',
  },
  {
    flags: '--request-timeout <duration>',
    about: 'how long to wait for the hub to answer (default: 30s; 0: no limit)',
    completes: 'nothing',
  },
];

/** Of every verb. */
export const commonOptions: readonly OptionSpec[] = [
  { flags: '-v, --verbose', about: 'show requests and plugin runs on stderr, with their times' },
];

/** Which ClusterProfiles. `profiles.ts` reads them. */
export const profileOptions: readonly OptionSpec[] = [
  ...hubOptions,
  { flags: '-A, --all-namespaces', about: 'ClusterProfiles in all namespaces' },
  {
    flags: '-l, --selector <labels>',
    about: 'ClusterProfiles with these labels: env=prod,tier!=dev',
    completes: 'nothing',
  },
  {
    flags: '-f, --filename <file>',
    about: 'read ClusterProfiles from a file instead of the hub; - for stdin; may be repeated',
    multiple: true,
    completes: 'files',
  },
];

/** Where the access providers come from, beside the `--clusterprofile-*` flags. `providers.ts` reads them. */
export const providerOptions: readonly OptionSpec[] = [
  {
    flags: '--from-pod-args <workload>',
    about:
      'take the --clusterprofile-* flags of a Deployment: a manifest file, or [NAMESPACE/]deployment/NAME on the hub',
    completes: 'files',
  },
  { flags: '--container <name>', about: 'its container (default: the one with such flags)', completes: 'nothing' },
];

/** `-o` with these formats, beside the table. */
export function outputOptions(...choices: readonly ('json' | 'yaml' | 'wide' | 'name')[]): readonly OptionSpec[] {
  return [
    { flags: '-o, --output <format>', about: 'output format', choices },
    ...(choices.includes('wide') ? [{ flags: '--no-headers', about: 'omit the header line' }] : []),
  ];
}
