/** One command for one cluster: its output goes out in lines, and how it ended comes back. */
import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { execa, type Subprocess } from 'execa';
import { Interrupted } from '../signals.ts';
import { LineCutter } from './lines.ts';

export interface CommandRun {
  /** An absolute path. */
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  /** A line that is too long to keep is cut into several. */
  readonly breaksLongLines: boolean;
  /** Lines with their ends. Waits until the lines are written: a slow reader slows the command. */
  readonly onLines: (stream: 'stdout' | 'stderr', lines: readonly string[]) => Promise<void>;
  /** Aborted: the command gets the signal that this program got. */
  readonly signal: AbortSignal;
}

export interface CommandEnd {
  /** `undefined` where it succeeded. */
  readonly failure?: string;
  readonly exitCode?: number;
  readonly durationMs: number;
}

/** Milliseconds between SIGTERM and SIGKILL after a time-out. */
const graceMs = 5_000;
/**
 * How much is read from a pipe after the command has ended. The command's own output is there at once and fits into the pipe.
 * Later output comes from a process that it left behind in another session, which may keep the pipe open for ever.
 */
const late = { ms: 500, bytes: 1024 * 1024 };

/** The commands that run now. A second Ctrl-C ends this process at once, and these with it, and all that is in their process groups. */
const running = new Set<Pick<Subprocess, 'kill'>>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export async function runCommand(run: CommandRun): Promise<CommandEnd> {
  const { path, args, env, timeoutMs, breaksLongLines, onLines, signal } = run;
  const began = performance.now();
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
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const interrupt = () => void child.kill(signal.reason instanceof Interrupted ? signal.reason.signal : 'SIGTERM');
  signal.addEventListener('abort', interrupt, { once: true });
  running.add(child);
  const copy = async (stream: 'stdout' | 'stderr') => {
    const cutter = new LineCutter({ breaksLongLines });
    for await (const chunk of chunksOf(child[stream], child.nodeChildProcess)) {
      const lines = cutter.push(chunk);
      if (lines.length > 0) await onLines(stream, lines);
    }
    await onLines(stream, cutter.end());
  };
  try {
    const [{ exitCode, signal: endedBy, timedOut, code }] = await Promise.all([child, copy('stdout'), copy('stderr')]);
    const durationMs = Math.round(performance.now() - began);
    // That another process still holds the pipe is not a failure of the command.
    if (exitCode === 0 && !timedOut) return { exitCode: 0, durationMs };
    const failure = timedOut
      ? `was ended after ${timeoutMs} ms`
      : exitCode !== undefined
        ? `exit code ${exitCode}`
        : endedBy === undefined
          ? `could not be started (${code})`
          : `ended by ${endedBy}`;
    return { failure, durationMs, ...(exitCode === undefined ? {} : { exitCode }) };
  } finally {
    signal.removeEventListener('abort', interrupt);
    running.delete(child);
  }
}

/** The output of a process's stream, until the process has ended. Other processes that hold the stream are not waited for. */
async function* chunksOf(stream: Readable, child: Pick<ChildProcess, 'once' | 'off'>): AsyncGenerator<Buffer> {
  let { ms, bytes } = late;
  let hasEnded = false;
  let isWaiting = true;
  let isLeft = false;
  let began = 0;
  let timer: NodeJS.Timeout | undefined;
  const leave = () => {
    isLeft = true;
    stream.destroy();
  };
  // Only time without data counts, so a slow reader loses nothing.
  const watch = () => {
    if (!isWaiting || !hasEnded) return;
    began = performance.now();
    timer = setTimeout(leave, ms);
  };
  const onExit = () => {
    hasEnded = true;
    watch();
  };
  child.once('exit', onExit);
  try {
    for await (const chunk of stream) {
      clearTimeout(timer);
      isWaiting = false;
      if (timer) {
        ms = Math.max(0, ms - (performance.now() - began));
        bytes -= chunk.length;
      }
      yield chunk;
      if (bytes <= 0) return;
      isWaiting = true;
      watch();
    }
  } catch (error) {
    if (!isLeft) throw error;
  } finally {
    clearTimeout(timer);
    child.off('exit', onExit);
  }
}
