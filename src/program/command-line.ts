/** Builds the command line from the table of verbs: its parser and its `--help`. */
import { readFileSync } from 'node:fs';
import { Command, Help, Option } from 'commander';
import type { Terminal } from './terminal.ts';
import { commonOptions, type OptionSpec, type Verb } from './verb.ts';

/** What a call asks for. */
export interface Parsed {
  readonly verb: Verb;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

export interface Actions {
  /** Gets the verb that the arguments ask for. */
  called(parsed: Parsed): void;
  /** Gets the help, or the version. */
  print(text: string): void;
  /** A line for the help of a verb: where the defaults of its options come from. */
  defaults(verb: Verb): string | undefined;
}

/** `program` is the name in the help. Give the asked verb alone if it is known: to build all of them takes milliseconds. */
export function createCommandLine(
  program: string,
  terminal: Terminal,
  verbs: readonly Verb[],
  actions: Actions,
): Command {
  const root = withCommonSettings(new Command(program), terminal, actions.print)
    .description(
      'Lists ClusterProfiles, checks access to their clusters, and supplies their credentials to kubectl and other programs.',
    )
    .usage('<verb> [options]')
    .version(version(), '-V, --version', 'show the version')
    .helpCommand('help [verb]', 'show the help of a verb')
    .addHelpText(
      'after',
      `\nOptions and examples of a verb: ${program} <verb> --help. Options may come before the verb, too.`,
    );
  for (const verb of verbs) root.addCommand(createVerb(verb, program, terminal, actions));
  return root;
}

function createVerb(verb: Verb, program: string, terminal: Terminal, { called, print, defaults }: Actions): Command {
  const command = withCommonSettings(new Command(verb.name), terminal, print)
    .summary(verb.summary)
    .description(verb.description ?? `${verb.summary}.`)
    .usage([verb.arguments, '[options]', verb.takesCommand ? '-- COMMAND [ARGS...]' : ''].filter(Boolean).join(' '));
  for (const name of verb.arguments?.split(' ') ?? []) command.argument(name);
  for (const spec of [...verb.options, ...commonOptions]) command.addOption(toOption(spec));
  const examples = verb.examples.map(
    ({ what, args }) => `  ${terminal.paint('dim', `# ${what}`)}\n  ${program} ${args}`,
  );
  if (verb.takesProviderFlags) command.addHelpText('after', `\n${providerFlagsHelp}`);
  const ofUser = defaults(verb);
  if (ofUser !== undefined) command.addHelpText('after', `\n${ofUser}`);
  command.addHelpText('after', `\n${terminal.paint('bold', 'Examples:')}\n${examples.join('\n\n')}`);
  return command.action(() => called({ verb, args: command.args, options: valuesOf(command) }));
}

const providerFlagsHelp = `The controller's own flags are accepted too: --clusterprofile-provider-file, --clusterprofile-access-provider and
all others that begin with --clusterprofile-.`;

function withCommonSettings(command: Command, terminal: Terminal, print: Actions['print']): Command {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'show this help')
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: print,
      // Problems are reported in one place, from the error.
      writeErr: () => {},
      outputError: () => {},
      // Some terminals do not say how wide they are.
      getOutHelpWidth: () => Math.min(terminal.stdout.columns || 100, 120),
    })
    .configureHelp({
      styleTitle: (title) => terminal.paint('bold', title),
      // `get [NAME...] [options]` would push the summaries far to the right.
      subcommandTerm: (subcommand) => subcommand.name(),
      commandUsage: (subcommand) => new Help().commandUsage(subcommand).replace(' [options] [command]', ''),
    });
}

function toOption({ flags, about, choices, multiple }: OptionSpec): Option {
  const option = new Option(flags, about);
  if (choices) return option.choices(choices);
  if (!multiple) return option;
  return option.argParser((value: string, before: unknown) => [...(Array.isArray(before) ? before : []), value]);
}

/** By the long names, as they are written. */
function valuesOf(command: Command): Readonly<Record<string, unknown>> {
  const values: Readonly<Record<string, unknown>> = command.opts();
  return Object.fromEntries(
    command.options.map((option) => {
      const value = values[option.attributeName()];
      return [option.long?.slice(2) ?? '', option.negate ? value === false : value];
    }),
  );
}

/** The version of the package. */
export function version(): string {
  // Of the built program: dist/chunks/program-clusterprofile/x.js.
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
