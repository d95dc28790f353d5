/** Runs one command for one cluster: streams its output in lines, and returns how it failed. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import { killAtExit } from '../diagnose/index.ts';
import { Interrupted } from './signals.ts';

export interface CommandRun {
  /** An absolute path. */
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  /** Whole lines, with their line breaks. Waits until they are written: a slow reader slows the command. */
  readonly onLines: (stream: 'stdout' | 'stderr', lines: string) => Promise<void>;
  /** Aborted: the command gets the signal that this program got. */
  readonly signal: AbortSignal;
}

/** Milliseconds between SIGTERM and SIGKILL after a time-out. */
const graceMs = 5_000;
/**
 * Milliseconds without output until a pipe is left after its command has ended. The command's own output is there at once. Later
 * output comes from a process that it left behind in another session, which may keep the pipe open for ever.
 */
const lateMs = 500;

/** Returns `undefined` if it succeeded. */
export async function runCommand(run: CommandRun): Promise<string | undefined> {
  const { path, args, env, timeoutMs, onLines, signal } = run;
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
    for await (const lines of wholeLines(chunksOf(child[stream], exited))) await onLines(stream, lines);
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

/**
 * The output of a process, until it has ended and nothing has come for a while. Another process that still holds the pipe is not
 * waited for. Only time in which this generator waits counts, so a slow reader loses nothing.
 */
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
