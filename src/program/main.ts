/**
 * The frame of the program: parses the arguments, loads and calls a verb, and ends with its exit code. Handles `-v`, errors, signals and a
 * closed output pipe here, so that verbs need not.
 */
import { subscribe } from 'node:diagnostics_channel';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { type Events, errnoOf, printable, printableLines } from '../diagnose/index.ts';
import { configFile } from './cache.ts';
import { parse } from './command-line.ts';
import { describeDefaults, readDefaults, withDefaults } from './config.ts';
import { type ExitCode, exitCodes, Failure, Interrupted } from './failure.ts';
import { Terminal } from './terminal.ts';

/** Runs the program, and ends the process. */
export async function main(): Promise<void> {
  const terminal = new Terminal();
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => endWithoutOutput(error, terminal));
  }
  const stop = stopOnSignals();
  const [, path = '', ...words] = process.argv;
  const name = basename(path);
  // kubectl starts its plugins by these names.
  const program = name.startsWith('kubectl-') ? 'kubectl clusterprofile' : 'clusterprofile';
  const argv = name.startsWith('kubectl_complete-') ? [completeVerb, ...words] : words;
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

/** cobra's word for it: the rest is a command line that is not finished. */
const completeVerb = '__complete';

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
    showRequests(terminal);
    if (used.length > 0) await terminal.say(`${used.join(', ')}: from ${printableLines(configFile() ?? '')}`);
  }
  const { run } = await verb.load();
  const { signal } = stop;
  return run({ program, verb, args, options, providerFlags, command: command ?? [], terminal, signal });
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

/** `-v`: shows each request and plugin run on stderr when it has ended. Nothing of it is secret: a request has no query and no headers. */
function showRequests(terminal: Terminal): void {
  const on = <K extends 'request-end' | 'plugin-run-end'>(name: K, format: (event: Events[K]) => string) =>
    subscribe(`clusterprofile-credentials:${name}`, (message) => {
      const event = message as Events[K]; // telemetry.ts publishes nothing else there
      void terminal.say(printable(`${format(event)}, ${Math.round(event.durationMs)} ms`, maxLineBytes));
    });
  on('request-end', ({ method, origin, path, statusCode, code }) => {
    return `${method} ${origin}${path}: ${code ?? statusCode ?? 'no answer'}`;
  });
  on('plugin-run-end', ({ command, provider, code, exitCode, signal }) => {
    const end = signal === undefined ? `exit code ${exitCode ?? 'unknown'}` : signal;
    return `plugin ${command} (${provider}): ${[code, end].filter(Boolean).join(', ')}`;
  });
}

const maxLineBytes = 2_048;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
type Stop = ReturnType<typeof stopOnSignals>;

/** Milliseconds that a verb has to end its children and to clean up after Ctrl-C. */
const graceMs = 3_000;

/** Ctrl-C and its like ask the verb to end; a second one, or a verb that takes too long, ends the process. */
function stopOnSignals() {
  const controller = new AbortController();
  let first: NodeJS.Signals | undefined;
  const stop = {
    signal: controller.signal,
    /** Whether the verb waits for commands of the user's, which end in their own time. */
    mayTakeLong: false,
    /** Ends the process: by the signal, if it has interrupted the verb or a thread is busy for long, else with the exit code. */
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
function exitBySignal(given: NodeJS.Signals): never {
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
