/** Decides which plugins get the terminal, and gives it to one at a time. */
import { isatty } from 'node:tty';
import { failure, type PluginCall } from './plugin-call.ts';

/** KEP-541: whether the plugin gets the terminal. Decided for each run. */
export function decideInteraction(call: PluginCall): boolean {
  const { interactiveMode } = call.exec;
  if (interactiveMode === 'Never') return false;
  const terminal = isatty(0);
  if (interactiveMode === 'Always' && !terminal) {
    const advice = 'run this program in a terminal, or configure a plugin that needs none';
    throw failure(
      call,
      'PLUGIN_NO_TERMINAL',
      `wants a terminal (interactiveMode Always), and stdin is none: ${advice}`,
    );
  }
  return terminal;
}

let lastPrompt: Promise<unknown> = Promise.resolve();

/** Two plugins must never prompt on the terminal at the same time. */
export function alone<T>(work: () => Promise<T>): Promise<T> {
  const turn = lastPrompt.then(work);
  lastPrompt = turn.catch(() => undefined);
  return turn;
}
