/** Ctrl-C and the other termination signals: they ask a verb to stop, or end the process if no verb can react. */
import { constants } from 'node:os';
import { type ExitCode, exitCodes, Failure } from './failure.ts';

/** Milliseconds that a verb has to end its children and to clean up after Ctrl-C. */
const graceMs = 3_000;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
type SignalName = (typeof signals)[number];

/** Why a call's signal aborts. */
export class Interrupted extends Failure {
  readonly signal: SignalName;

  constructor(signal: SignalName) {
    super(exitCodes.interrupted, 'interrupted');
    this.signal = signal;
  }
}

export interface Stop {
  readonly signal: AbortSignal;
  /** Ends the process: by the signal, if it has interrupted the verb or a thread is busy for long, else with the exit code. */
  exit(exitCode: ExitCode): void;
  /** Whether the verb waits for commands of the user's, which end in their own time. */
  mayTakeLong: boolean;
}

/** Ctrl-C asks the verb to end; a second one, or a verb that takes too long, ends the process. */
export function stopOnSignals(): Stop {
  const controller = new AbortController();
  let first: SignalName | undefined;
  const stop = {
    signal: controller.signal,
    mayTakeLong: false,
    exit: (exitCode: ExitCode): void => {
      if (first && exitCode === exitCodes.interrupted) exitBySignal(first);
      // Until the time for a verb's end is over.
      if (first && hasBusyThread()) setTimeout(() => stop.exit(exitCode), 10);
      else process.exit(exitCode);
    },
  };
  for (const name of signals) {
    process.on(name, () => {
      if (first) exitBySignal(name);
      first = name;
      const end = () => {
        if (!stop.mayTakeLong) exitBySignal(name);
      };
      setTimeout(end, graceMs).unref();
      controller.abort(new Interrupted(name));
    });
  }
  return stop;
}

/**
 * A shell shows it as 129, 130 or 143. exit() would wait for the threads of Node's pool, and one may wait for a pipe. SIGQUIT itself would
 * leave a core, which holds credentials: it ends the program as SIGTERM does.
 */
function exitBySignal(given: SignalName): never {
  const name = given === 'SIGQUIT' ? 'SIGTERM' : given;
  const exitCode = 128 + constants.signals[name];
  process.emit('exit', exitCode);
  process.removeAllListeners(name);
  process.kill(process.pid, name);
  // It does not end the first process of a container.
  process.exit(exitCode);
}

/** Of Node's pool, as far as Node tells. */
function hasBusyThread(): boolean {
  return process.getActiveResourcesInfo().some((resource) => /^(?:FSReq|Get\w+Info)/.test(resource));
}
