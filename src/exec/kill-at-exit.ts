/**
 * Ends the child processes that still run when this process exits. A library listens for no signals: what a signal does to the
 * process is up to the program.
 */
import { constants } from 'node:os';

interface Killable {
  kill(signal: NodeJS.Signals): unknown;
}

const running = new Set<Killable>();

function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Returns the function to call when the child has ended. */
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
