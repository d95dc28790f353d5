/** Runs one process to its end, with all that keeps it from outliving its time. */
import { finished } from 'node:stream';
import type { Options } from 'execa';

/** Milliseconds between SIGTERM and SIGKILL, and from the end of a process and its stdout until whatever holds its stderr is left. */
const graceMs = 500;

/** The part of stderr that is kept while the plugin runs; more than is shown, so that redaction sees what surrounds it. */
const stderrKept = 16 * 1024;

/** How a process ended. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** All of it, in bytes. */
  readonly stderrBytes: number;
  /** There was more of it before. */
  readonly stderrCut: boolean;
  readonly tooLarge: boolean;
  readonly timedOut: boolean;
  /** An operating system's code, where the process could not be started. */
  readonly startError: string | undefined;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

/** What a process is given, and how far it may go. */
export interface ProcessOptions {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  /** Written to its stdin. */
  readonly input?: string;
  /** Milliseconds; without it the process has the terminal, and all the time it wants. */
  readonly timeoutMs: number | undefined;
  /** The most that is read of its stdout, in bytes. */
  readonly maxBytes: number;
  /** Aborted: the process is killed. */
  readonly stop: AbortSignal;
  /** An open file that is executed instead of what lies at the path (Linux). */
  readonly descriptor?: number | undefined;
}

/** The file that a process inherits as its fourth: executing it is executing what was opened. */
const inheritedFile = '/proc/self/fd/3';

const notStarted: Ended = {
  stdout: '',
  stderr: '',
  stderrBytes: 0,
  stderrCut: false,
  tooLarge: false,
  timedOut: false,
  startError: undefined,
  exitCode: undefined,
  signal: 'SIGKILL',
};

/** If `stop` is aborted already, it starts nothing and gives an end without an exit code. */
export async function runProcess(path: string, options: ProcessOptions): Promise<Ended> {
  const { args, env, input, timeoutMs, maxBytes, stop, descriptor } = options;
  const interactive = timeoutMs === undefined;
  // execa takes any descriptor here, and its type does not say so.
  const inherited = (descriptor === undefined ? [] : [descriptor]) as unknown as readonly 'ignore'[];
  const settings = {
    env,
    extendEnv: false,
    ...(input === undefined ? {} : { input }),
    stdio: [
      input === undefined ? (interactive ? 'inherit' : 'ignore') : 'pipe',
      'pipe',
      interactive ? 'inherit' : 'pipe',
      ...inherited,
    ],
    // Programs that look at their name find the one that they would have had.
    ...(descriptor === undefined ? {} : { argv0: path }),
    buffer: { stdout: true, stderr: false },
    encoding: 'buffer',
    maxBuffer: { stdout: maxBytes },
    reject: false,
    // A run with a terminal stays in its session: Ctrl-C has to reach it, and /dev/tty has to be there.
    killDescendants: !interactive,
    killSignal: 'SIGKILL',
    forceKillAfterDelay: false,
  } as const satisfies Options;
  // With the first run, not with the package: it takes as long to load as a small plugin to answer.
  const { execa } = await import('execa');
  // Closed while its file was looked at: nothing starts after that.
  if (stop.aborted) return notStarted;
  const child = execa(descriptor === undefined ? path : inheritedFile, args, settings);
  let stderr = Buffer.alloc(0);
  let stderrBytes = 0;
  let stderrCut = false;
  child.stderr?.on('data', (chunk: Buffer) => {
    stderrBytes += chunk.length;
    stderr = Buffer.concat([stderr, chunk]);
    if (stderr.length <= stderrKept) return;
    stderr = stderr.subarray(stderr.length - stderrKept);
    stderrCut = true;
  });
  let timedOut = false;
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, work: () => void) => timers.push(setTimeout(work, ms).unref());
  const kill = () => {
    child.kill('SIGKILL');
    // A grandchild that started a new session survives the kill of its group: its pipes are closed, and it is left behind.
    child.stdout.destroy();
    child.stderr?.destroy();
  };
  // A child that it leaves behind may hold stderr, which is no part of the answer. client-go does not wait for it either.
  const leaveStderr = () => after(graceMs, () => child.stderr?.destroy());
  child.nodeChildProcess.once('exit', () => finished(child.stdout, leaveStderr));
  if (timeoutMs !== undefined) {
    after(timeoutMs, () => {
      timedOut = true;
      child.kill('SIGTERM');
      after(graceMs, kill);
    });
  }
  stop.addEventListener('abort', kill, { once: true });
  try {
    const { exitCode, signal, code, isMaxBuffer, stdout } = await child;
    return {
      stdout: Buffer.from(stdout ?? []).toString('utf8'),
      stderr: stderr.toString('utf8'),
      stderrBytes,
      stderrCut,
      tooLarge: isMaxBuffer,
      timedOut,
      startError: exitCode === undefined && signal === undefined && !timedOut ? code : undefined,
      exitCode,
      signal,
    };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    stop.removeEventListener('abort', kill);
  }
}
