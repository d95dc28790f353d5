/** `exec [NAME...] -- COMMAND`: runs a command once for each cluster, with a kubeconfig of that cluster. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import {
  findExecutable,
  killAtExit,
  ProfileError,
  printableLines,
  profileName,
  withoutProfile,
} from '../../diagnose/index.ts';
import { type ExitCode, earliest, exitCodes, Failure, Interrupted } from '../failure.ts';
import { exitCodeOfProfile } from '../format-error.ts';
import { durationOf, numberOf } from '../input.ts';
import { credentialCommand, thisProgram } from '../kubeconfig/credential-command.ts';
import { tryToEnter } from '../kubeconfig/entries.ts';
import { mergeKubeconfig } from '../kubeconfig/merge.ts';
import { PrivateFolder } from '../private-folder.ts';
import { noProfiles, type Profile, profilesOf } from '../profiles.ts';
import { counted, sideBySide } from '../table.ts';
import type { Style } from '../terminal.ts';
import type { Call } from '../verb.ts';

interface Outcome {
  readonly profile: string;
  readonly failure: string | undefined;
  readonly exitCode: ExitCode;
}

export async function run(call: Call): Promise<ExitCode> {
  const { options, terminal, signal } = call;
  const command = await commandOf(call);
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
    const credential = { ...thisProgram(), after: ['--filename', file, ...after], env };
    const entry = tryToEnter(profile, providers, name, credential);
    if (entry instanceof ProfileError) {
      return { profile: name, failure: withoutProfile(entry.message, name), exitCode: exitCodeOfProfile(entry) };
    }
    const variables = {
      KUBECONFIG: folder.write(`${index}/kubeconfig`, mergeKubeconfig(undefined, [entry]).text),
      CLUSTERPROFILE_NAME: profile.metadata?.name ?? '',
      CLUSTERPROFILE_NAMESPACE: profile.metadata?.namespace ?? '',
    };
    const failure = await runCommand(command, variables, writerOf(call, name, width, index), signal);
    return { profile: name, failure, exitCode: failure === undefined ? exitCodes.ok : exitCodes.command };
  };
  const outcomes: Outcome[] = [];
  try {
    for await (const outcome of sideBySide(profiles, atOnce, signal, runFor)) outcomes.push(outcome);
  } finally {
    folder.remove();
  }
  await summarize(call, outcomes, profiles.length);
  if (signal.aborted) return exitCodes.interrupted;
  return earliest(outcomes.map(({ exitCode }) => exitCode));
}

type Command = Awaited<ReturnType<typeof commandOf>>;

/** It is searched once, since it is the same for all clusters. */
async function commandOf({ command: [name, ...args], options, program }: Call) {
  if (!name) throw Failure.usage('exec needs a command after --', `${program} exec -A -- kubectl get nodes`);
  const timeout = options.text('timeout');
  const timeoutMs = timeout === undefined ? undefined : durationOf('--timeout', timeout);
  const found = await findExecutable(name, process.env.PATH ?? '');
  if (!('problem' in found)) return { path: found.path, args, timeoutMs };
  const where = found.problem === 'missing' ? 'was not found' : `is ${found.problem}`;
  throw Failure.usage(`the command ${name} ${where}`, 'correct it, or install it');
}

/** Neighbours in the table differ. */
const colours: readonly Style[] = ['cyan', 'magenta', 'blue', 'green', 'yellow'];

/** Writes whole lines. A slow reader slows the command. */
type WriteLines = (stream: 'stdout' | 'stderr', lines: string) => Promise<void>;

/** Puts the cluster in front of each. Those of a chunk are written together, so that they stay together. */
function writerOf({ terminal, options }: Call, name: string, width: number, index: number): WriteLines {
  return async (stream, lines) => {
    const to = terminal[stream];
    const colour = colours[index % colours.length] ?? 'cyan';
    const prefix = `${terminal.paint(colour, printableLines(name).padEnd(width), to)} | `;
    const shown = options.has('no-prefix') ? lines : lines.replace(/[^\n]*\n/g, (line) => prefix + line);
    await terminal.write(shown, to);
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

/** Milliseconds between SIGTERM and SIGKILL after a time-out. */
const graceMs = 5_000;
/**
 * Milliseconds without output until a pipe is left after its command has ended. The command's own output is there at once. Later
 * output comes from a process that it left behind in another session, which may keep the pipe open for ever.
 */
const lateMs = 500;

/** Runs it for one cluster. Returns how it failed; `undefined` if it succeeded. After an abort it gets the signal that this program got. */
async function runCommand(
  { path, args, timeoutMs }: Command,
  env: Readonly<Record<string, string>>,
  write: WriteLines,
  signal: AbortSignal,
): Promise<string | undefined> {
  const child = execa(path, args, {
    env,
    extendEnv: true,
    // Several commands cannot read one terminal.
    stdin: 'ignore',
    buffer: false,
    encoding: 'buffer',
    reject: false,
    // In a separate process group: all that it starts ends with it, and only this program passes Ctrl-C on to it.
    killDescendants: true,
    forceKillAfterDelay: graceMs,
    // killAtExit does it, also when a second Ctrl-C ends this program at once.
    cleanup: false,
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const interrupt = () => void child.kill(signal.reason instanceof Interrupted ? signal.reason.signal : 'SIGTERM');
  signal.addEventListener('abort', interrupt, { once: true });
  const ended = killAtExit(child);
  const exited = new Promise<void>((resolve) => child.nodeChildProcess.once('exit', () => resolve()));
  const copy = async (stream: 'stdout' | 'stderr') => {
    for await (const lines of wholeLines(chunksOf(child[stream], exited))) await write(stream, lines);
  };
  try {
    const [{ exitCode, signal: endedBy, timedOut, code }] = await Promise.all([child, copy('stdout'), copy('stderr')]);
    if (timedOut) return `was ended after ${timeoutMs} ms`;
    // That another process still holds the pipe is not a failure of the command.
    if (exitCode === 0) return undefined;
    if (exitCode !== undefined) return `exit code ${exitCode}`;
    return endedBy === undefined ? `could not be started (${code})` : `ended by ${endedBy}`;
  } finally {
    signal.removeEventListener('abort', interrupt);
    ended();
  }
}

/** Until the process has ended and nothing has come for a while. Only time in which this waits counts: a slow reader loses nothing. */
async function* chunksOf(stream: Readable, exited: Promise<unknown>): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = stream[Symbol.asyncIterator]();
  for (;;) {
    const late = new AbortController();
    const waited = exited.then(() => pause(lateMs, undefined, { signal: late.signal })).catch(() => undefined);
    const next = await Promise.race([chunks.next(), waited]);
    late.abort();
    if (next === undefined) stream.destroy();
    if (next === undefined || next.done) return;
    yield next.value;
  }
}

/** Cuts chunks of bytes into texts of whole lines, each with its line break. The last line gets one. */
export async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8');
  /** The pieces of a line that has not ended. */
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.write(chunk);
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) {
      yield pieces.join('') + text.slice(0, end);
      pieces = [];
    }
    pieces.push(text.slice(end));
  }
  const last = pieces.join('') + decoder.end();
  if (last !== '') yield `${last}\n`;
}
