/** `exec [NAME...] -- COMMAND`: runs a command once for each cluster, with a kubeconfig of that cluster. */
import { findExecutable, ProfileError, printableLines, profileName, withoutProfile } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import { exitCodeOfProfile } from '../format-error.ts';
import { durationOf, numberOf } from '../input.ts';
import { credentialCommand, thisProgram } from '../kubeconfig/credential-command.ts';
import { tryToEnter } from '../kubeconfig/entries.ts';
import { mergeKubeconfig } from '../kubeconfig/merge.ts';
import { PrivateFolder } from '../plugin-hub.ts';
import { noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { runCommand } from '../run-command.ts';
import { counted, sideBySide } from '../table.ts';
import type { Style } from '../terminal.ts';
import type { Call } from '../verb.ts';

/** How it went for one cluster. */
interface Outcome {
  readonly profile: string;
  readonly failure?: string;
  readonly exitCode: ExitCode;
}

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal, signal } = call;
  const [path, args] = await commandOf(call);
  const timeout = options.text('timeout');
  const timeoutMs = timeout === undefined ? undefined : durationOf('--timeout', timeout);
  const atOnce = numberOf('--parallel', options.text('parallel') ?? '10');
  const { providers, after, env } = await credentialCommand(call, [], true);
  const profiles = await profilesOf(call);
  if (profiles.length === 0) {
    await terminal.say(await noProfiles(call));
    return exitCodes.ok;
  }
  const folder = new PrivateFolder();
  const width = Math.max(...profiles.map((profile) => printableLines(profileName(profile)).length));
  const runFor = async (profile: Profile, index: number): Promise<Outcome> => {
    const name = profileName(profile);
    const file = folder.write(`${index}/profile.json`, JSON.stringify(profile));
    // The profile as it was selected, so that a later change has no effect and the hub is not asked again for each command.
    const command = { ...thisProgram(), after: ['--filename', file, ...after], env };
    const entry = tryToEnter(profile, providers, name, command);
    if (entry instanceof ProfileError) {
      return { profile: name, failure: withoutProfile(entry.message, name), exitCode: exitCodeOfProfile(entry) };
    }
    const variables = {
      KUBECONFIG: folder.write(`${index}/kubeconfig`, mergeKubeconfig(undefined, [entry]).text),
      CLUSTERPROFILE_NAME: profile.metadata?.name ?? '',
      CLUSTERPROFILE_NAMESPACE: profile.metadata?.namespace ?? '',
    };
    const onLines = linesOf(call, name, width, index);
    const failure = await runCommand({ path, args, env: variables, timeoutMs, onLines, signal });
    return failure === undefined
      ? { profile: name, exitCode: exitCodes.ok }
      : { profile: name, failure, exitCode: exitCodes.command };
  };
  const outcomes: Outcome[] = [];
  try {
    for await (const outcome of sideBySide(profiles, atOnce, signal, runFor)) outcomes.push(outcome);
  } finally {
    folder.remove();
  }
  await summarize(call, outcomes, profiles.length);
  if (signal.aborted) return exitCodes.interrupted;
  // The exit code of the earliest stage at which any cluster failed.
  return (
    outcomes
      .map(({ exitCode }) => exitCode)
      .filter((code) => code !== exitCodes.ok)
      .sort((a, b) => a - b)[0] ?? exitCodes.ok
  );
}

/** Searched once, since it is the same for all clusters. */
async function commandOf({ command: [name, ...args], program }: Call): Promise<readonly [string, readonly string[]]> {
  if (!name) throw Failure.usage('exec needs a command after --', `${program} exec -A -- kubectl get nodes`);
  const found = await findExecutable(name, process.env.PATH ?? '');
  if (!('problem' in found)) return [found.path, args];
  const where = found.problem === 'missing' ? 'was not found' : `is ${found.problem}`;
  throw Failure.usage(`the command ${name} ${where}`, 'correct it, or install it');
}

/** Neighbours in the table differ. */
const colours: readonly Style[] = ['cyan', 'magenta', 'blue', 'green', 'yellow'];

/** Writes lines with the cluster in front. Those of a chunk are written together, so that they stay together. */
function linesOf({ terminal, options }: Call, name: string, width: number, index: number) {
  return async (stream: 'stdout' | 'stderr', lines: string): Promise<void> => {
    if (options.has('no-prefix')) return terminal.copy(stream, lines);
    const colour = colours[index % colours.length] ?? 'cyan';
    const prefix = `${terminal.paint(colour, printableLines(name).padEnd(width), terminal[stream])} | `;
    await terminal.copy(
      stream,
      lines.replace(/[^\n]*\n/g, (line) => prefix + line),
    );
  };
}

async function summarize({ terminal }: Call, outcomes: readonly Outcome[], count: number): Promise<void> {
  const failed = outcomes.filter(({ failure }) => failure !== undefined);
  const counts = [
    `${outcomes.length - failed.length} ok`,
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
    ...(outcomes.length < count ? [`${count - outcomes.length} not run`] : []),
  ];
  await terminal.say(`${counted(count, 'cluster')}: ${counts.join(', ')}`);
  for (const { profile, failure } of failed) {
    await terminal.say(
      `  ${terminal.paint('red', printableLines(profile), terminal.stderr)}: ${printableLines(failure ?? '')}`,
    );
  }
}
