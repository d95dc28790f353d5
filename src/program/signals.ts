/** Ctrl-C and the other signals that end the program: they ask a verb to end, or end the process where no verb can hear them. */
import { constants } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { Failure } from './failure.ts';

/** Milliseconds that a verb has to end its children and to clean up after Ctrl-C. */
const graceMs = 3_000;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Why a call's signal aborts. */
export class Interrupted extends Failure {
  readonly signal: (typeof signals)[number];

  constructor(signal: (typeof signals)[number]) {
    super(exitCodes.interrupted, 'interrupted');
    this.signal = signal;
  }
}

export interface Stop {
  readonly signal: AbortSignal;
  /** What to end with, once there was a signal. */
  readonly exitCode: ExitCode | undefined;
  /** Whether the verb waits for commands of the user's, which end in their own time. */
  mayTakeLong: boolean;
}

/** Ctrl-C asks the verb to end; a second one, or a verb that takes too long, ends the process. */
export function stopOnSignals(): Stop {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const stop = {
    signal: controller.signal,
    mayTakeLong: false,
    get exitCode() {
      return exitCode as ExitCode | undefined; // 129, 130, 131 or 143
    },
  };
  for (const name of signals) {
    process.on(name, () => {
      const code = 128 + constants.signals[name];
      if (exitCode !== undefined) process.exit(code);
      exitCode = code;
      const end = () => {
        if (!stop.mayTakeLong) process.exit(code);
      };
      setTimeout(end, graceMs).unref();
      controller.abort(new Interrupted(name));
    });
  }
  return stop;
}

/**
 * Reads files that may be pipes, synchronously. While a read waits for whoever writes, no listener of ours is called, so the
 * operating system handles the signals: they end the process at once. Reading in Node's thread pool would not do: the process
 * cannot exit while a thread waits. Call it where there is nothing to clean up. Rejects with the signal's reason where it has
 * aborted.
 */
export async function endedBySignals<T>(signal: AbortSignal, read: () => T): Promise<T> {
  // So that a signal that has arrived already is not lost.
  await setImmediate();
  signal.throwIfAborted();
  const listeners = signals.map((name) => ({ name, all: process.listeners(name) }));
  for (const { name } of listeners) process.removeAllListeners(name);
  try {
    return read();
  } finally {
    for (const { name, all } of listeners) for (const listener of all) process.on(name, listener);
  }
}
