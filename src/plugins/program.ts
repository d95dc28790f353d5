import { exitOnSignals } from '../exec/kill-at-exit.ts';
import { runCredentialPlugin } from '../plugin/run-credential-plugin.ts';

/**
 * Runs a plugin as a program: `--help` prints its usage, bad arguments end it with 2 and one line, and `parse` returns the
 * function that answers.
 */
export async function runProgram(
  name: string,
  usage: string,
  parse: (args: readonly string[]) => Parameters<typeof runCredentialPlugin>[0],
): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage);
    return;
  }
  let answer: ReturnType<typeof parse>;
  try {
    answer = parse(args);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : 'bad arguments'} (--help explains)`);
    process.exitCode = 2;
    return;
  }
  exitOnSignals();
  await runCredentialPlugin(answer);
}
