/** `completion SHELL`: the script that makes a shell complete this program's command lines. */
import { scripts } from '../completion/scripts.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import type { Call } from '../verb.ts';

export async function run({ args, terminal }: Call): Promise<ExitCode> {
  const [shell = ''] = args;
  const script = Object.entries(scripts).find(([name]) => name === shell)?.[1];
  if (script === undefined) {
    throw new Failure(
      exitCodes.usage,
      `there is no completion for ${shell}`,
      `there is one for ${Object.keys(scripts).join(', ')}`,
    );
  }
  await terminal.write(script);
  return exitCodes.ok;
}
