/** `kubeconfig [NAME...]`: a kubeconfig with a context for each cluster, whose users exec `clusterprofile credential`. */
import { parse } from 'yaml';
import { profileName } from '../../access/resolve.ts';
import { ProfileError } from '../../errors/index.ts';
import { printableLines } from '../../util/printable.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { exitCodeOfProfile } from '../format-error.ts';
import {
  contextOf,
  fileArguments,
  hubArguments,
  providerArguments,
  readsPodOfHub,
  refuseReadOnce,
  thisProgram,
} from '../kubeconfig/credential-command.ts';
import { type KubeconfigEntry, tryToEnter } from '../kubeconfig/entries.ts';
import { MergeProblem, mergeKubeconfig } from '../kubeconfig/merge.ts';
import { FileProblem, updateFile } from '../kubeconfig/update-file.ts';
import { jsonText } from '../print.ts';
import { noProfiles, profilesOf } from '../profiles.ts';
import { requiredProvidersOf } from '../providers.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal } = call;
  const file = options.text('merge');
  if (file === '-') {
    throw new Failure(
      exitCodes.usage,
      '--merge cannot merge into stdout',
      'leave --merge out to print the kubeconfig, or name a file',
    );
  }
  const { entries, refused } = await entriesOf(call);
  if (entries.length > 0 && file !== undefined) await merge(call, file, entries);
  else if (entries.length > 0) {
    const { text } = mergeKubeconfig(undefined, entries);
    await terminal.write(options.text('output') === 'json' ? `${jsonText(parse(text), 2)}\n` : text);
  }
  for (const { message } of refused) await terminal.say(`left out: ${printableLines(message)}`);
  if (entries.length + refused.length === 0) await terminal.say(await noProfiles(call));
  const [first] = refused;
  return first ? exitCodeOfProfile(first) : exitCodes.ok;
}

/** An entry for each profile that a provider serves, and why there is none for the others. */
async function entriesOf(
  call: Call,
): Promise<{ readonly entries: readonly KubeconfigEntry[]; readonly refused: readonly ProfileError[] }> {
  const files = call.options.texts('filename');
  const readsFiles = files.length > 0;
  const readsHub = !readsFiles || readsPodOfHub(call);
  refuseReadOnce(call, files, readsHub);
  const { providers } = await requiredProvidersOf(call);
  const context = readsHub ? await contextOf(call) : undefined;
  const { after, env } = hubArguments(call, context);
  const command = {
    ...thisProgram(),
    after: [
      ...(call.options.has('cache') ? ['--cache'] : []),
      ...fileArguments(call),
      ...after,
      ...providerArguments(call, providers),
    ],
    env,
  };
  const entries: KubeconfigEntry[] = [];
  const refused: ProfileError[] = [];
  for (const profile of await profilesOf(call)) {
    const name = profileName(profile);
    // Namespaces and names contain no slash and no @, so these are all different.
    const entry = tryToEnter(profile, providers, readsFiles ? name : `${name}@${context}`, command);
    if (entry instanceof ProfileError) refused.push(entry);
    else entries.push(entry);
  }
  return { entries, refused };
}

async function merge({ terminal, signal }: Call, file: string, entries: readonly KubeconfigEntry[]): Promise<void> {
  let said = '';
  try {
    await updateFile(file, signal, (before) => {
      const { text, added, updated } = mergeKubeconfig(before, entries);
      said = `${file}: ${counted(added.length)} added, ${updated.length} updated`;
      return text;
    });
  } catch (error) {
    if (error instanceof MergeProblem) throw new Failure(exitCodes.configuration, `${file} ${error.message}`);
    if (error instanceof FileProblem) throw new Failure(exitCodes.configuration, error.message);
    throw error;
  }
  await terminal.say(said);
}

function counted(contexts: number): string {
  return `${contexts} context${contexts === 1 ? '' : 's'}`;
}
