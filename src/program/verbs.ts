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
import { outputOptions, profileOptions, providerOptions } from './option-groups.ts';
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
      ...outputOptions('json', 'yaml', 'wide', 'name'),
    ],
    takesProviderFlags: true,
    examples: [
      { what: 'the ClusterProfiles of all namespaces', args: 'get -A' },
      { what: 'what the controller makes of them', args: 'get -A --from-pod-args fleet-system/deployment/fleet' },
      { what: 'their names, for a script', args: 'get -A -l env=prod -o name' },
    ],
    load: () => import('./verbs/get.ts'),
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
];
