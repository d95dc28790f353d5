/** A plugin as a program: its usage, its arguments and the files that they name, and how it ends. */
import { readFileSync } from 'node:fs';
import { exitOnSignals } from '../exec/process.ts';
import { type CredentialStatus, type ExecCredential, runCredentialPlugin } from '../plugin/credential-plugin.ts';
import { errnoOf } from '../util/guards.ts';

/** Answers a client, with the arguments of the plugin. */
export type GetStatus = (credential: ExecCredential) => Promise<CredentialStatus>;

/** `--help` prints the usage. If `parse` refuses the arguments, its message is the one line on stderr, and the exit code is 2. */
export async function runProgram(
  name: string,
  usage: string,
  parse: (args: readonly string[]) => GetStatus,
): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage);
    return;
  }
  let answer: GetStatus;
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

/** Throws if an option is given as an empty text, such as an unset variable of a shell. */
export function refuseEmpty(values: Readonly<Record<string, unknown>>): void {
  for (const [name, given] of Object.entries(values)) {
    if (Array.isArray(given) && given.includes('')) throw new Error(`--${name} is empty: name one, or leave it out`);
  }
}

/** The value of an option that must not be repeated: a profile's arguments come last, and must not replace the operator's. */
export function once(name: string, given: readonly string[]): string | undefined {
  if (given.length < 2) return given[0];
  throw new Error(`--${name} is given ${given.length} times: give it once; a profile must not add it`);
}

/** Text of a file, without the line break at its end. */
export function readText(option: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const code = errnoOf(error);
    throw new Error(`${option} ${file} cannot be read (${code}): correct the path, or mount the file`);
  }
  if (text === '') throw new Error(`${option} ${file} is empty`);
  return text;
}
