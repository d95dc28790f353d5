/**
 * The frame of the program: parses the arguments, loads and calls a verb, and returns an exit code. Handles errors, signals and a
 * closed output pipe here, so that verbs need not.
 */
import { basename } from 'node:path';
import { CommanderError } from 'commander';
import { errnoOf, printableLines } from '../diagnose/index.ts';
import { hasProviderFlags, normalizeArguments, splitArguments, verbFirst } from './arguments.ts';
import { configFile } from './cache.ts';
import { createCommandLine, type Parsed } from './command-line.ts';
import { describeDefaults, readDefaults, withDefaults } from './config.ts';
import { type ExitCode, exitCodes, Failure } from './failure.ts';
import { type Stop, stopOnSignals } from './signals.ts';
import { Terminal } from './terminal.ts';
import { commonOptions, namesOf, Options, takesValue } from './verb.ts';
import { verbs } from './verbs.ts';

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

const allOptions = [...commonOptions, ...verbs.flatMap(({ options }) => options)];
const withValue = new Set(allOptions.filter(takesValue).flatMap(namesOf));
const switches = new Set(allOptions.filter((spec) => !takesValue(spec)).flatMap(namesOf));

/** What cobra's programs call it, and kubectl's plugins: the rest of the words is a command line that is not finished. */
const completeVerb = '__complete';
const isCompletion = (path: string) => basename(path).startsWith('kubectl_complete-');

async function run(program: string, argv: readonly string[], terminal: Terminal, stop: Stop): Promise<ExitCode> {
  if (argv[0] === completeVerb) {
    const { complete } = await import('./complete.ts');
    await complete(argv.slice(1), terminal, stop.signal);
    return exitCodes.ok;
  }
  const { own, command } = splitArguments(argv);
  let parsed: Parsed | undefined;
  let printed = '';
  // The library's own parser reads them, so that they mean here what they mean to a controller.
  const picked = hasProviderFlags(own) ? (await import('./providers.ts')).pickFlags(own) : { rest: own, given: [] };
  const rest = verbFirst(normalizeArguments(picked.rest, switches), (option) => withValue.has(option));
  const asked = verbs.filter(({ name }) => name === rest[0]);
  // What is wrong with it is the matter of a verb that would use it, not of the help.
  const defaults = await readDefaults().catch((error: unknown) =>
    error instanceof Failure ? error : Promise.reject(error),
  );
  const line = createCommandLine(program, terminal, asked.length > 0 ? asked : verbs, {
    called: (call) => {
      parsed = call;
    },
    print: (text) => {
      printed += text;
    },
    defaults: (verb) => describeDefaults(defaults, verb),
  });
  if (picked.rest.length === 0) {
    line.outputHelp();
    await terminal.write(printed);
    return exitCodes.ok;
  }
  try {
    line.parse([...rest], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usage(error, program, rest);
  }
  if (!parsed) {
    await terminal.write(printed);
    return exitCodes.ok;
  }
  const { verb, args } = parsed;
  if (picked.given.length > 0 && !verb.takesProviderFlags) {
    throw Failure.usage(`${verb.name} takes no --clusterprofile-* flags`, helpHint(program, verb.name));
  }
  if (command && !verb.takesCommand) {
    throw Failure.usage(`${verb.name} takes no command after --`, helpHint(program, verb.name));
  }
  stop.mayTakeLong = verb.hasCommands ?? false;
  const given = { options: parsed.options, providerFlags: picked.given };
  const { options, providerFlags, used } = withDefaults(defaults, verb, given);
  if (options.verbose === true) {
    (await import('./verbose.ts')).showRequests(terminal);
    if (used.length > 0) await terminal.say(`${used.join(', ')}: from ${printableLines(configFile() ?? '')}`);
  }
  const { run } = await verb.load();
  return run({
    program,
    verb,
    args,
    options: new Options(options),
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
  const shown = error instanceof Failure ? error : (await import('./format-error.ts')).describe(error);
  const { message, hint, exitCode, code } = shown;
  const label = code === undefined ? 'error:' : `error [${code}]:`;
  await terminal.tell(label, 'red', message);
  const hints = [hint, code === undefined ? undefined : `${program} explain ${code}`].filter(
    (one) => one !== undefined,
  );
  for (const one of hints) await terminal.tell('hint: ', 'yellow', one);
  return exitCode;
}

function usage({ code, message }: CommanderError, program: string, args: readonly string[]): Failure {
  const words = args.filter((word) => !word.startsWith('-'));
  const verb = verbs.find(({ name }) => name === words[0]);
  const [option = ''] = args[0]?.split('=') ?? [];
  if (!verb && (withValue.has(option) || switches.has(option))) {
    return Failure.usage('a verb is missing', `see ${program} --help`);
  }
  // `help` of a verb that is not there.
  const unknown = code === 'commander.help' ? `unknown command '${words[1] ?? ''}'` : undefined;
  const [first = '', ...more] = (unknown ?? message).replace(/^error: /, '').split(/\n(?=\(Did you mean )/);
  const known = verbs.find(({ alsoCalled = [] }) => alsoCalled.includes(words[0] ?? ''))?.name;
  const meant = known ? `did you mean ${known}?` : more.map((line) => line.replace(/^\(D(.*)\)$/, 'd$1')).join(' ');
  return Failure.usage(
    first
      // What stands behind `=` may be a secret.
      .replace(/^(unknown \w+ '[^=]*)=.*'/s, "$1'")
      // commander's own words are for the authors of programs.
      .replace(
        /^option '[^']*?(--[\w-]+)[^']*' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s,
        '$1 $2: must be one of $3',
      ),
    [meant, `see ${program}${verb ? ` ${verb.name}` : ''} --help`].filter(Boolean).join(' '),
  );
}
