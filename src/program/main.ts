/**
 * The frame of the program: parses the arguments, loads and calls a verb, and returns an exit code. Handles errors, signals and a
 * closed output pipe here, so that verbs need not.
 */
import { basename } from 'node:path';
import { errnoOf, printableLines } from '../diagnose/index.ts';
import { configFile } from './cache.ts';
import { parse } from './command-line.ts';
import { describeDefaults, readDefaults, withDefaults } from './config.ts';
import { type ExitCode, exitCodes, Failure } from './failure.ts';
import { type Stop, stopOnSignals } from './signals.ts';
import { Terminal } from './terminal.ts';

/** Runs the program, and ends the process. */
export async function main(): Promise<void> {
  const terminal = new Terminal(process.stdout, process.stderr);
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => endWithoutOutput(error, terminal));
  }
  const stop = stopOnSignals();
  const program = calledName(process.argv[1] ?? '');
  const argv = isCompletion(process.argv[1] ?? '') ? [completeVerb, ...process.argv.slice(2)] : process.argv.slice(2);
  const exitCode = await run(program, argv, terminal, stop).catch((error: unknown) =>
    // After Ctrl-C there is nothing to explain.
    stop.signal.aborted ? exitCodes.interrupted : report(error, program, terminal),
  );
  // Whatever a verb has left open must not keep a shell waiting.
  stop.exit(exitCode);
}

/** The reader has gone, or the disk is full. */
function endWithoutOutput(error: Error, { stderr }: Terminal): never {
  if (errnoOf(error) === 'EPIPE') process.exit(exitCodes.brokenPipe);
  stderr.write(`error: the output cannot be written: ${error.message}\n`, () => {});
  process.exit(exitCodes.failed);
}

/** `kubectl clusterprofile`, if kubectl has started it as its plugin. */
function calledName(path: string): string {
  return basename(path).startsWith('kubectl-') ? 'kubectl clusterprofile' : 'clusterprofile';
}

/** What cobra's programs call it, and kubectl's plugins: the rest of the words is a command line that is not finished. */
const completeVerb = '__complete';
const isCompletion = (path: string) => basename(path).startsWith('kubectl_complete-');

async function run(program: string, argv: readonly string[], terminal: Terminal, stop: Stop): Promise<ExitCode> {
  if (argv[0] === completeVerb) {
    const { complete } = await import('./complete.ts');
    await complete(argv.slice(1), terminal, stop.signal);
    return exitCodes.ok;
  }
  const end = argv.indexOf('--');
  const [own, command] = end < 0 ? [argv] : [argv.slice(0, end), argv.slice(end + 1)];
  // The library's own parser reads the controller's flags, and misspelt ones, so that they mean here what they mean to a controller.
  const hasProviderFlags = own.some((argument) => /^--?clusterprofile[-_]/i.test(argument));
  const picked = hasProviderFlags ? (await import('./providers.ts')).pickFlags(own) : { rest: own, given: [] };
  const asked = parse(picked.rest, program);
  if (asked === 'version') {
    const { version } = await import('./verbs/version.ts');
    await terminal.write(`${version()}\n`);
    return exitCodes.ok;
  }
  // What is wrong with them is the matter of a verb that would use them, not of the help.
  const defaults = await readDefaults().catch((error: unknown) =>
    error instanceof Failure ? error : Promise.reject(error),
  );
  if ('helpOf' in asked) {
    const { helpOfProgram, helpOfVerb } = await import('./help.ts');
    const { helpOf: verb } = asked;
    const ofVerb = verb && helpOfVerb(program, verb, terminal, describeDefaults(defaults, verb));
    await terminal.write(ofVerb ?? helpOfProgram(program, terminal));
    return exitCodes.ok;
  }
  const { verb, args } = asked;
  if (picked.given.length > 0 && !verb.takesProviderFlags) {
    throw Failure.usage(`${verb.name} takes no --clusterprofile-* flags`, helpHint(program, verb.name));
  }
  if (command && !verb.takesCommand) {
    throw Failure.usage(`${verb.name} takes no command after --`, helpHint(program, verb.name));
  }
  stop.mayTakeLong = verb.hasCommands ?? false;
  const given = { options: asked.options, providerFlags: picked.given };
  const { options, providerFlags, used } = withDefaults(defaults, verb, given);
  if (options.has('verbose')) {
    (await import('./verbose.ts')).showRequests(terminal);
    if (used.length > 0) await terminal.say(`${used.join(', ')}: from ${printableLines(configFile() ?? '')}`);
  }
  const { run } = await verb.load();
  return run({
    program,
    verb,
    args,
    options,
    providerFlags,
    command: command ?? [],
    terminal,
    signal: stop.signal,
  });
}

const helpHint = (program: string, verb: string) => `see ${program} ${verb} --help`;

/** Prints the problem, the next step and where there is more: no stack, and no secret. */
async function report(error: unknown, program: string, terminal: Terminal): Promise<ExitCode> {
  // Most errors are failures of the program's own: the library's errors are loaded only to explain others.
  const failure = error instanceof Failure ? error : (await import('./format-error.ts')).describe(error);
  const { message, hint, exitCode, code } = failure;
  const label = code === undefined ? 'error:' : `error [${code}]:`;
  await terminal.tell(label, 'red', message);
  for (const advice of [hint, code && `${program} explain ${code}`]) {
    if (advice !== undefined) await terminal.tell('hint: ', 'yellow', advice);
  }
  return exitCode;
}
