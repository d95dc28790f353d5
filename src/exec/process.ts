/** Runs one process to its end, and kills it when its time is over, or when this process exits. */
import { open } from 'node:fs/promises';
import { constants, devNull } from 'node:os';
import { finished } from 'node:stream';
import type { Options } from 'execa';

/** Milliseconds between SIGTERM and SIGKILL; also how long stderr may stay open after the process and its stdout have ended. */
const graceMs = 500;

/** Bytes. More of stderr is kept than is shown, so that redaction sees the context. */
const stderrKept = 16 * 1024;

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** The bytes that were written on stderr in all. `stderr` has the last of them. */
  readonly stderrBytes: number;
  readonly stderrCut: boolean;
  readonly tooLarge: boolean;
  readonly timedOut: boolean;
  /** An operating system's code, if the process could not be started. */
  readonly startError: string | undefined;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
}

export interface ProcessOptions {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly input?: string;
  /** Milliseconds. Without it the process has the terminal, and no limit. */
  readonly timeoutMs: number | undefined;
  /** The most that is read of stdout. */
  readonly maxBytes: number;
  /** Aborted: the process is killed. */
  readonly stop: AbortSignal;
  /** An open file to execute instead of the file at the path (Linux). */
  readonly descriptor?: number | undefined;
}

/** The fourth file that a process inherits. To execute it is to execute the file that was opened. */
const inheritedFile = '/proc/self/fd/3';

let isLoaded = false;

/** Not at start-up: it takes as long to load as a small plugin to answer. */
async function loadExeca(): Promise<typeof import('execa')> {
  // Without free descriptors the import fails too, but its error does not say why.
  if (!isLoaded) await (await open(devNull)).close();
  const loaded = await import('execa');
  isLoaded = true;
  return loaded;
}

/** Rejects with the reason of `stop` if it is aborted before the start, and with nothing else. */
export async function runProcess(path: string, options: ProcessOptions): Promise<Ended> {
  const { args, env, input, timeoutMs, maxBytes, stop, descriptor } = options;
  // Only a plugin that may prompt on the terminal has no limit.
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
    // A program that reads its own name finds the path.
    ...(descriptor === undefined ? {} : { argv0: path }),
    buffer: { stdout: true, stderr: false },
    encoding: 'buffer',
    maxBuffer: { stdout: maxBytes },
    reject: false,
    // With a terminal it stays in this session, so that it has /dev/tty and Ctrl-C reaches it.
    killDescendants: !interactive,
    killSignal: 'SIGKILL',
    forceKillAfterDelay: false,
    // It would listen for signals, and remove handlers that the program has set with `process.once`.
    cleanup: false,
  } as const satisfies Options;
  const { execa } = await loadExeca();
  // It may have been closed meanwhile: nothing starts after that.
  stop.throwIfAborted();
  const child = execa(descriptor === undefined ? path : inheritedFile, args, settings);
  const unregister = killAtExit(child);
  let stderr = Buffer.alloc(0);
  let stderrBytes = 0;
  child.stderr?.on('data', (chunk: Buffer) => {
    stderrBytes += chunk.length;
    stderr = Buffer.concat([stderr, chunk]).subarray(-stderrKept);
  });
  let timedOut = false;
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, work: () => void) => timers.push(setTimeout(work, ms).unref());
  const kill = () => {
    child.kill('SIGKILL');
    // A grandchild in a session of its own survives. Without its pipes it cannot delay the end.
    child.stdout.destroy();
    child.stderr?.destroy();
  };
  // A child that the plugin leaves behind may hold stderr open, which is not part of the answer. client-go does not wait either.
  const closeStderr = () => after(graceMs, () => child.stderr?.destroy());
  child.nodeChildProcess.once('exit', () => finished(child.stdout, closeStderr));
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
      stderrCut: stderrBytes > stderrKept,
      tooLarge: isMaxBuffer,
      timedOut,
      startError: exitCode === undefined && signal === undefined && !timedOut ? code : undefined,
      exitCode,
      signal,
    };
  } finally {
    unregister();
    for (const timer of timers) clearTimeout(timer);
    stop.removeEventListener('abort', kill);
  }
}

interface Killable {
  kill(signal: NodeJS.Signals): unknown;
}

const running = new Set<Killable>();

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/**
 * Kills a child if this process exits first. Returns the function to call when the child has ended. A library listens for no signals:
 * what a signal does to the process is up to the program.
 */
export function killAtExit(child: Killable): () => void {
  if (running.size === 0) process.once('exit', killAll);
  running.add(child);
  return () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', killAll);
  };
}

/** For programs without signal handlers of their own: a signal ends them by `process.exit`, and so their children. */
export function exitOnSignals(): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () => process.exit(128 + constants.signals[name]));
  }
}
