/** One command for one cluster: its output goes out in lines, and how it ended comes back. */
import { execa } from 'execa';
import { Interrupted } from '../failure.ts';
import { LineCutter } from './lines.ts';

export interface CommandRun {
  /** An absolute path. */
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  /** Waits until the lines are written: a slow reader slows the command. */
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

export async function runCommand({ path, args, env, timeoutMs, onLines, signal }: CommandRun): Promise<CommandEnd> {
  const began = performance.now();
  const child = execa(path, args, {
    env,
    extendEnv: true,
    // Several commands cannot read one terminal.
    stdin: 'ignore',
    buffer: false,
    encoding: 'buffer',
    reject: false,
    // A group of its own: what it starts ends with it, and Ctrl-C reaches it through us alone.
    killDescendants: true,
    forceKillAfterDelay: graceMs,
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const interrupt = () => void child.kill(signal.reason instanceof Interrupted ? signal.reason.signal : 'SIGTERM');
  // The process ends at once at a second Ctrl-C, and with it whatever is left.
  const kill = () => void child.kill('SIGKILL');
  signal.addEventListener('abort', interrupt, { once: true });
  process.once('exit', kill);
  const copy = async (stream: 'stdout' | 'stderr') => {
    const cutter = new LineCutter();
    for await (const chunk of child[stream]) {
      const lines = cutter.push(chunk);
      if (lines.length > 0) await onLines(stream, lines);
    }
    await onLines(stream, cutter.end());
  };
  try {
    const [{ exitCode, signal: endedBy, timedOut, code, failed }] = await Promise.all([
      child,
      copy('stdout'),
      copy('stderr'),
    ]);
    const durationMs = Math.round(performance.now() - began);
    if (!failed) return { exitCode: 0, durationMs };
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
    process.off('exit', kill);
  }
}
