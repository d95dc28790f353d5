/** `kubeconfig [NAME...]`: a kubeconfig with a context for each cluster, whose users exec `clusterprofile credential`. */
import { parse } from 'yaml';
import { profileName, resolve } from '../../access/resolve.ts';
import { ProfileError } from '../../errors.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { installedProgram, providerArguments, sourceArguments } from '../kubeconfig/credential-command.ts';
import { type KubeconfigEntry, toEntry } from '../kubeconfig/entries.ts';
import { MergeProblem, mergeKubeconfig } from '../kubeconfig/merge.ts';
import { FileProblem, updateFile } from '../kubeconfig/update-file.ts';
import { profilesOf } from '../profiles.ts';
import { requiredProvidersOf } from '../providers.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal } = call;
  const { entries, refused } = await entriesOf(call);
  const file = options.text('merge');
  if (entries.length > 0 && file !== undefined) await merge(call, file, entries);
  else if (entries.length > 0) {
    const { text } = mergeKubeconfig(undefined, entries);
    await terminal.write(options.text('output') === 'json' ? `${JSON.stringify(parse(text), null, 2)}\n` : text);
  }
  for (const message of refused) await terminal.say(`left out: ${message}`);
  if (entries.length + refused.length === 0)
    await terminal.say('no ClusterProfiles are there; -A looks in all namespaces');
  return refused.length > 0 ? exitCodes.profile : exitCodes.ok;
}

/** An entry for each profile that a provider serves, and why there is none for the others. */
async function entriesOf(
  call: Call,
): Promise<{ readonly entries: readonly KubeconfigEntry[]; readonly refused: readonly string[] }> {
  const { providers } = await requiredProvidersOf(call);
  const context = call.options.texts('filename').length > 0 ? undefined : await contextOf(call);
  const { after, env } = sourceArguments(call, context);
  const program = await installedProgram();
  const command = { ...program, after: [...after, ...providerArguments(call, providers)], env };
  const entries: KubeconfigEntry[] = [];
  const refused: string[] = [];
  for (const profile of await profilesOf(call)) {
    const name = profileName(profile);
    try {
      // Neither a namespace nor a name has a slash or an @ in it, so no two of these are the same.
      entries.push(
        toEntry(context === undefined ? name : `${name}@${context}`, name, resolve(profile, providers), command),
      );
    } catch (error) {
      if (!(error instanceof ProfileError)) throw error;
      refused.push(error.message);
    }
  }
  return { entries, refused };
}

async function contextOf(call: Call): Promise<string> {
  const { Hub } = await import('../hub.ts');
  const hub = Hub.open(call);
  await hub.close();
  return hub.context;
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
