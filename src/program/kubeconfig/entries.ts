/** Converts resolved accesses into entries of a kubeconfig, whose users exec `clusterprofile credential`, and names their contexts. Pure. */
import { delimiter } from 'node:path';
import {
  at,
  type ConfiguredProvider,
  listAt,
  type Profile,
  ProfileError,
  profileName,
  type ResolvedAccess,
  type ResolvedCluster,
  textAt,
  toExecCluster,
  tryToResolve,
} from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import { readName, templateOf } from '../input.ts';

/** A cluster, a user and a context of one name. */
export interface KubeconfigEntry {
  readonly name: string;
  /** `namespace/name` of the ClusterProfile. */
  readonly profile: string;
  readonly cluster: object;
  readonly user: object;
}

/** How the entries' users call this program. */
export interface CredentialCommand {
  readonly command: string;
  /** Before `credential`: the script, if `command` is Node. */
  readonly before: readonly string[];
  /** After the profile's name: which hub or file, which providers. */
  readonly after: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** Whatever an API server allows, and more. A file may have any name, such as one that `credential` would take for an option. */
const plainName = /^[\p{L}\p{N}_.][\p{L}\p{N}_.-]*(?:\/[\p{L}\p{N}_.-]+)?$/u;

/** Shown by clients that do not find the command. It also marks the users that this program wrote: their command may be any. */
const installHint =
  'install clusterprofile-credentials as its docs/command-line.md says, and write this kubeconfig again with clusterprofile kubeconfig';

/** The entry for a ClusterProfile, or why the library refuses it. */
export function tryToEnter(
  profile: Profile,
  providers: readonly ConfiguredProvider[],
  name: string,
  command: CredentialCommand,
): KubeconfigEntry | ProfileError {
  const called = profileName(profile);
  if (!plainName.test(called)) {
    const message = 'has a name that Kubernetes does not allow: write letters, digits, - and . only';
    return new ProfileError('PROFILE_INVALID', called, 'metadata', message);
  }
  const access = tryToResolve(profile, providers);
  return access instanceof ProfileError ? access : toEntry(name, called, access, command);
}

export function toEntry(
  name: string,
  profile: string,
  { cluster, exec }: ResolvedAccess,
  { command, before, after, env }: CredentialCommand,
): KubeconfigEntry {
  const user = {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command,
      args: [...before, 'credential', profile, ...after],
      ...(env.length === 0 ? {} : { env }),
      installHint,
      interactiveMode: exec.interactiveMode,
      // So that no credential is given for a server that the profile no longer names.
      provideClusterInfo: true,
    },
  };
  return { name, profile, cluster: kubeconfigCluster(cluster), user };
}

/** With the field names of a kubeconfig. */
export function kubeconfigCluster(cluster: ResolvedCluster) {
  const { config: _, ...fields } = toExecCluster(cluster, undefined);
  return fields;
}

/** The values of KUBECONFIG of a plugin: one, or none. */
const kubeconfigsOf = (exec: unknown) =>
  listAt(exec, 'env').flatMap((one) => (textAt(one, 'name') === 'KUBECONFIG' ? (textAt(one, 'value') ?? '') : []));

/** Where a user of ours reads its ClusterProfile: the files, or the hub by its kubeconfig and context. As options, sorted. */
export function sourceOf(user: unknown): readonly string[] {
  const exec = at(user, 'exec');
  const named = listAt(exec, 'args').flatMap((flag, index) =>
    flag === '--filename' || flag === '--kubeconfig' || flag === '--context'
      ? `${flag} ${textAt(exec, 'args', index + 1) ?? ''}`
      : [],
  );
  return [...named, ...kubeconfigsOf(exec).map((value) => `KUBECONFIG=${value}`)].sort();
}

/** The hub that a user of ours names; `undefined` for any other user. Absent files: those of `KUBECONFIG`. */
export function hubOfUser(exec: unknown) {
  if (profileOfUser({ exec }) === undefined) return undefined;
  const args = listAt(exec, 'args');
  const [file, context] = ['--kubeconfig', '--context'].map((flag) =>
    args.includes(flag) ? textAt(args, args.indexOf(flag) + 1) || undefined : undefined,
  );
  const paths = kubeconfigsOf(exec).flatMap((value) => value.split(delimiter));
  const files = file === undefined ? paths.filter((path) => path !== '') : [file];
  return { files: files.length === 0 ? undefined : files, context };
}

/** The `namespace/name` that a user of a kubeconfig, as it stands in the file, is for. `undefined` if this program has not written it. */
export function profileOfUser(user: unknown): string | undefined {
  const args = listAt(user, 'exec', 'args');
  const isOurs = textAt(user, 'exec', 'installHint')?.includes('clusterprofile-credentials');
  const verb = args.indexOf('credential');
  return !isOurs || verb < 0 ? undefined : textAt(args, verb + 1) || undefined;
}

/** Gives the name of the context for a profile's `namespace/name`. `hub` is the context of the hub, `undefined` if files are read. */
export function contextNamer(template: string | undefined, hub: string | undefined): (profile: string) => string {
  if (template === undefined) return (profile) => (hub === undefined ? profile : `${profile}@${hub}`);
  const nameOf = templateOf('--context-name', template, ['namespace', 'name', ...(hub === undefined ? [] : ['hub'])]);
  return (profile) => {
    const [name = '', namespace = ''] = profile.split('/').reverse();
    return nameOf({ namespace, name, hub: hub ?? '' });
  };
}

/** Throws a `Failure` that names both profiles. */
export function refuseCollisions(entries: readonly KubeconfigEntry[]): void {
  for (const [name, [first, second]] of Map.groupBy(entries, (entry) => entry.name)) {
    if (!first || !second) continue;
    const message = `ClusterProfiles ${first.profile} and ${second.profile} would both have the context ${name}`;
    throw Failure.usage(message, 'tell them apart with --context-name, as {namespace}-{name} does');
  }
}

/** The name of the context that `--use` selects. Throws a `Failure` if no context matches, or several do. */
export function contextToUse(
  use: string | undefined,
  entries: readonly Pick<KubeconfigEntry, 'name' | 'profile'>[],
): string | undefined {
  if (use === undefined) return undefined;
  const { namespace, name } = readName(use);
  const isNamed = entries.find((entry) => entry.name === use);
  if (isNamed) return use;
  const isMeant = (profile: string) =>
    namespace === undefined ? profile.split('/').at(-1) === name : profile === `${namespace}/${name}`;
  const [first, second] = entries.filter(({ profile }) => isMeant(profile));
  if (first && !second) return first.name;
  if (first && second) {
    const message = `--use ${use} means more than one context: ${first.name} (${first.profile}), ${second.name} (${second.profile})`;
    throw Failure.usage(message, 'write NAMESPACE/NAME, or the name of the context');
  }
  throw Failure.notFound(`--use ${use}: no context is written for that ClusterProfile`);
}
