/** Ctrl-C and the other termination signals: they ask a verb to stop, or end the process if no verb can react. */
import { constants } from 'node:os';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { Failure } from './failure.ts';

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
  /** Ends the process: by the signal, once there was one, else with the exit code. */
  exit(exitCode: ExitCode): never;
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
    exit: (exitCode: ExitCode) => (first ? exitBySignal(first) : process.exit(exitCode)),
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

/** With 129, 130, 131 or 143, as a shell shows it for that signal. */
function exitBySignal(name: SignalName): never {
  const exitCode = 128 + constants.signals[name];
  // exit() waits for the threads of Node's pool, and one may wait for a name server or for a pipe. The signal itself does not wait.
  if (process.getActiveResourcesInfo().some((resource) => /^(?:FSReq|Get\w+Info)/.test(resource))) {
    process.emit('exit', exitCode);
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  }
  process.exit(exitCode);
}
