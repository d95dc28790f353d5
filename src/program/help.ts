/** The help of the program, and of its verbs. commander formats it. */
import { Command } from 'commander';
import type { Terminal } from './terminal.ts';
import { commonOptions, type Verb } from './verb.ts';
import { verbs } from './verbs.ts';

/** `program` is the name in the help. */
export function helpOfProgram(program: string, terminal: Terminal): string {
  const command = createCommand(program, terminal)
    .description(
      'Lists ClusterProfiles, checks access to their clusters, and supplies their credentials to kubectl and other programs.',
    )
    .usage('<verb> [options]')
    .option('-V, --version', 'show the version')
    .helpCommand('help [verb]', 'show the help of a verb');
  for (const { name, summary } of verbs) command.addCommand(new Command(name).summary(summary));
  const more = `Options and examples of a verb: ${program} <verb> --help. Options may come before the verb, too.`;
  return `${command.helpInformation()}\n${more}\n`;
}

/** `defaults` says where the defaults of its options come from. */
export function helpOfVerb(program: string, verb: Verb, terminal: Terminal, defaults: string | undefined): string {
  const command = createCommand(`${program} ${verb.name}`, terminal)
    .description(verb.description ?? `${verb.summary}.`)
    .usage([verb.arguments, '[options]', verb.takesCommand ? '-- COMMAND [ARGS...]' : ''].filter(Boolean).join(' '));
  for (const [flags, about] of Object.entries({ ...verb.options, ...commonOptions })) command.option(flags, about);
  const examples = Object.entries(verb.examples).map(
    ([what, args]) => `  ${terminal.paint('dim', `# ${what}`)}\n  ${program} ${args}`,
  );
  const parts = [
    command.helpInformation(),
    ...(verb.takesProviderFlags ? [providerFlagsHelp] : []),
    ...(defaults === undefined ? [] : [`${defaults}\n`]),
    `${terminal.paint('bold', 'Examples:')}\n${examples.join('\n\n')}\n`,
  ];
  return parts.join('\n');
}

const providerFlagsHelp = `The controller's own flags are accepted too: --clusterprofile-provider-file, --clusterprofile-access-provider and
all others that begin with --clusterprofile-.
`;

function createCommand(name: string, terminal: Terminal): Command {
  return (
    new Command(name)
      .helpOption('-h, --help', 'show this help')
      // Some terminals do not say how wide they are.
      .configureOutput({ getOutHelpWidth: () => Math.min(terminal.stdout.columns || 100, 120) })
      .configureHelp({
        styleTitle: (title) => terminal.paint('bold', title),
        // `help [verb]` would push the summaries far to the right.
        subcommandTerm: (subcommand) => subcommand.name(),
      })
  );
}
