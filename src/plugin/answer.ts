/** How a plugin of any protocol ends: with an answer on stdout, or with a line on stderr and an exit code. */
import { redact } from '../exec/redact.ts';

/**
 * Prints what `work` gives as JSON on stdout. Where it throws, the message goes to stderr in one line, without anything that
 * looks like a credential, and the process ends with the error's own `exitCode` (1 to 255), else with 1.
 */
export async function answerWith(work: () => Promise<object>): Promise<void> {
  try {
    process.stdout.write(`${JSON.stringify(await work())}\n`);
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const line = redact(message).replace(/\s*\n\s*/g, ' ');
    process.stderr.write(`${line || 'the plugin failed'}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'exitCode') : undefined;
  return typeof code === 'number' && Number.isInteger(code) && code > 0 && code < 256 ? code : 1;
}
