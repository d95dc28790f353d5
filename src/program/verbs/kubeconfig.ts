/** `kubeconfig [NAME...]`: a kubeconfig with a context for each cluster, whose users exec `clusterprofile credential`. */
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { ProfileError, printableLines, profileName } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { exitCodeOfProfile } from '../format-error.ts';
import { credentialCommand, thisProgram } from '../kubeconfig/credential-command.ts';
import {
  contextNamer,
  contextToUse,
  type KubeconfigEntry,
  refuseCollisions,
  tryToEnter,
} from '../kubeconfig/entries.ts';
import { type Merged, type MergeOptions, MergeProblem, mergeKubeconfig } from '../kubeconfig/merge.ts';
import { updateFile } from '../kubeconfig/update-file.ts';
import { homeOf, noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { counted, jsonText } from '../table.ts';
import type { Call } from '../verb.ts';
import type { ProfileChange } from '../watch.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal } = call;
  refuseOptions(call);
  const file = options.text('merge');
  const { command, enter } = await entering(call);
  const profiles = await profilesOf(call);
  const found = new Map(profiles.map((profile) => [profileName(profile), enter(profile)]));
  const use = contextToUse(options.text('use'), entriesOf(found));
  const home = await homeOf(call);
  // Other namespaces are not known.
  const isGone = (profile: string) => !found.has(profile) && (home === undefined || profile.startsWith(`${home}/`));
  const prune = options.has('prune') ? { command, isGone } : undefined;
  let said: ReadonlySet<string> = new Set();
  const write = async (use?: string, isQuiet = false) => {
    if (file === undefined) await print(call, entriesOf(found), use);
    else if (prune || found.size > 0) await merge(call, file, entriesOf(found), { prune, use }, isQuiet);
    said = await sayRefused(call, found, said);
  };
  await write(use);
  if (found.size === 0) await terminal.say(await noProfiles(call));
  if (options.has('watch')) {
    const { keepFile } = await import('../watch.ts');
    const apply = ({ profile, isGone }: ProfileChange) =>
      applyTo(found, profileName(profile), isGone ? undefined : enter(profile));
    await keepFile(call, profiles, apply, () => write(undefined, true));
    return exitCodes.interrupted;
  }
  const first = [...found.values()].find((one) => one instanceof ProfileError);
  return first ? exitCodeOfProfile(first) : exitCodes.ok;
}

function refuseOptions({ options, args }: Call): void {
  const refuse = (message: string, hint: string) => {
    throw Failure.usage(message, hint);
  };
  const file = options.text('merge');
  if (file === '-') {
    refuse('--merge cannot merge into stdout', 'leave --merge out to print the kubeconfig, or name a file');
  }
  for (const name of ['prune', 'watch']) {
    if (options.has(name) && file === undefined) refuse(`--${name} needs a file`, 'name it with --merge');
  }
  if (options.has('watch') && options.texts('filename').length > 0) {
    refuse('--watch and -f contradict each other: a file is read once', 'leave one of the two out');
  }
  if (options.has('prune') && (args.length > 0 || options.text('selector') !== undefined)) {
    const message = '--prune must know all ClusterProfiles of a namespace, and names and -l choose some of them';
    refuse(message, 'leave --prune, or the names and -l, out');
  }
}

/** What is known of each ClusterProfile, by `namespace/name`: its entry, or why no provider serves it. */
type Found = Map<string, ReturnType<typeof tryToEnter>>;

const entriesOf = (found: Found) => [...found.values()].flatMap((one) => (one instanceof ProfileError ? [] : one));

async function entering(call: Call) {
  const files = call.options.texts('filename');
  const { providers, hub, after, env } = await credentialCommand(call, files, false);
  const given = call.options.text('command');
  const command = {
    ...(given === undefined ? thisProgram() : { command: given.includes('/') ? resolve(given) : given, before: [] }),
    after: [
      ...(call.options.has('cache') ? ['--cache'] : []),
      ...files.flatMap((file) => ['--filename', resolve(file)]),
      ...after,
    ],
    env,
  };
  const nameOf = contextNamer(call.options.text('context-name'), files.length > 0 ? undefined : hub?.context);
  return {
    command,
    enter: (profile: Profile) => tryToEnter(profile, providers, nameOf(profileName(profile)), command),
  };
}

async function print({ terminal, options }: Call, entries: readonly KubeconfigEntry[], use: string | undefined) {
  if (entries.length === 0) return;
  refuseCollisions(entries);
  const { text } = mergeKubeconfig(undefined, entries, { use });
  await terminal.write(options.text('output') === 'json' ? `${jsonText(parse(text), 2)}\n` : text);
}

/** `isQuiet` says nothing if nothing changes. */
async function merge(
  { terminal, signal }: Call,
  file: string,
  entries: readonly KubeconfigEntry[],
  options: MergeOptions,
  isQuiet: boolean,
): Promise<void> {
  refuseCollisions(entries);
  let merged: Merged | undefined;
  try {
    await updateFile(file, signal, (before) => {
      merged = mergeKubeconfig(before, entries, options);
      return merged.text;
    });
  } catch (error) {
    if (error instanceof MergeProblem) throw Failure.configuration(`${file} ${error.message}`);
    throw error;
  }
  if (!merged) return;
  const { added, updated, removed } = merged;
  const changes = added.length + updated.length + removed.length;
  const pruned = options.prune ? `, ${removed.length} removed` : '';
  if (changes > 0 || !isQuiet) {
    await terminal.say(`${file}: ${counted(added.length, 'context')} added, ${updated.length} updated${pruned}`);
  }
}

/** Prints the new warnings, and returns all of them. */
async function sayRefused({ terminal }: Call, found: Found, said: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const messages = [...found.values()].flatMap((one) => (one instanceof ProfileError ? one.message : []));
  for (const message of messages) {
    if (!said.has(message)) await terminal.say(`left out: ${printableLines(message)}`);
  }
  return new Set(messages);
}

/** Returns whether it changes anything: most changes of a ClusterProfile, such as heartbeats, change nothing of its entry. */
function applyTo(found: Found, name: string, now: KubeconfigEntry | ProfileError | undefined): boolean {
  const textOf = (one: typeof now) => (one instanceof ProfileError ? one.message : JSON.stringify(one));
  const before = textOf(found.get(name));
  if (now) found.set(name, now);
  else found.delete(name);
  return textOf(now) !== before;
}
