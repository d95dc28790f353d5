/** What a verb of the program is: its arguments and options, and the options that several of them have. */
import type { ExitCode } from './failure.ts';
import type { Terminal } from './terminal.ts';

/** One option, as commander writes it: `-o, --output <format>`. */
export interface OptionSpec {
  readonly flags: string;
  readonly about: string;
  readonly choices?: readonly string[];
  /** What completion offers for its value; else nothing. */
  readonly completes?: Completes;
}

/** `-n` and `--namespace`. */
export const namesOf = ({ flags }: OptionSpec) => flags.replace(/ <.*/, '').split(', ');
/** The long name without dashes, by which `Options` has it. */
export const longNameOf = (spec: OptionSpec) => namesOf(spec).at(-1)?.slice(2) ?? '';
export const takesValue = ({ flags }: OptionSpec) => flags.includes('<');

/** What a shell can complete with. */
export type Completes = 'profiles' | 'namespaces' | 'contexts' | 'files' | 'shells';

export interface Verb {
  readonly name: string;
  /** What people type for it who know other programs: a hint names this verb. */
  readonly alsoCalled?: readonly string[];
  /** As the help shows them: `[NAME...]`. */
  readonly arguments?: string;
  /** What completion offers for an argument; else nothing. */
  readonly completes?: Completes;
  /** One line. */
  readonly summary: string;
  /** More of it, for its own help. */
  readonly description?: string;
  readonly options: readonly OptionSpec[];
  /** Takes the controller's own `--clusterprofile-*` flags. */
  readonly takesProviderFlags?: boolean;
  /** Plugins run, here or later, and may read the hub also if the profiles come from files. */
  readonly runsPlugins?: boolean;
  /** Takes a command after `--`: the verb gets it as `call.command`. */
  readonly takesCommand?: boolean;
  /** Waits after Ctrl-C until the user's own commands have ended, however long they take. */
  readonly hasCommands?: boolean;
  readonly examples: readonly { readonly what: string; readonly args: string }[];
  /** Its code, loaded when it is called. */
  readonly load: () => Promise<{ readonly run: (call: Call) => Promise<ExitCode> }>;
}

/** One call of a verb. */
export interface Call {
  /** As the user calls it, for messages: `clusterprofile`, or `kubectl clusterprofile`. */
  readonly program: string;
  readonly verb: Verb;
  readonly args: readonly string[];
  readonly options: Options;
  /** The `--clusterprofile-*` flags, as they were given. */
  readonly providerFlags: readonly string[];
  /** What stands after `--`. */
  readonly command: readonly string[];
  readonly terminal: Terminal;
  /** Aborted by Ctrl-C and the other signals that end a program. A verb ends its children, cleans up and returns. */
  readonly signal: AbortSignal;
}

type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

/** The options that were given, by the long name without dashes. */
export class Options {
  readonly #values: Values;

  constructor(values: Values) {
    this.#values = values;
  }

  /** The value of an option that takes one: the last, if it is given more than once. */
  text(name: string): string | undefined {
    return this.texts(name).at(-1);
  }

  /** The values of an option that may be given more than once. */
  texts(name: string): readonly string[] {
    return [this.#values[name]].flat().filter((value) => typeof value === 'string');
  }

  /** Whether an option without a value was given. */
  has(name: string): boolean {
    return [this.#values[name]].flat().includes(true);
  }

  /** Whether any option of this name was given. */
  isGiven(name: string): boolean {
    return this.has(name) || this.text(name) !== undefined;
  }

  /** The same, but for some. */
  with(others: Values): Options {
    return new Options({ ...this.#values, ...others });
  }
}

/** Which hub, and what of it. `profiles.ts` reads them. */
export const hubOptions: readonly OptionSpec[] = [
  { flags: '--kubeconfig <file>', about: "the hub's kubeconfig (default: what kubectl would use)", completes: 'files' },
  { flags: '--context <name>', about: 'the context to use (default: the current one)', completes: 'contexts' },
  { flags: '--as <user>', about: 'the user to impersonate on the hub' },
  { flags: '--as-group <group>', about: 'a group to impersonate on the hub; may be repeated' },
  {
    flags: '-n, --namespace <name>',
    about: "the namespace (default: the context's)",
    completes: 'namespaces',
  },
  {
    flags: '--request-timeout <duration>',
    about: 'how long to wait for the hub to answer (default: 30s; 0: no limit)',
  },
];

/** Of every verb. */
export const commonOptions: readonly OptionSpec[] = [
  { flags: '-v, --verbose', about: 'show requests and plugin runs on stderr, with their times' },
];

/** Which ClusterProfiles. `profiles.ts` reads them. */
export const profileOptions: readonly OptionSpec[] = [
  ...hubOptions,
  { flags: '-A, --all-namespaces', about: 'ClusterProfiles in all namespaces' },
  { flags: '-l, --selector <labels>', about: 'ClusterProfiles with these labels: env=prod,tier!=dev' },
  {
    flags: '-f, --filename <file>',
    about: 'read ClusterProfiles from a file instead of the hub; - for stdin; may be repeated',
    completes: 'files',
  },
];

export const takes = (verb: Verb, option: string) => verb.options.some((spec) => longNameOf(spec) === option);

/** The option that names the hub's context: `--context` of `publish` chooses contexts of its source. */
export const hubContextOf = (verb: Verb) => (takes(verb, 'hub-context') ? 'hub-context' : 'context');

/** Of verbs that take one name. */
export const oneProfileOptions = profileOptions.filter(
  (spec) => !['all-namespaces', 'selector'].includes(longNameOf(spec)),
);

/** Where the access providers come from, beside the `--clusterprofile-*` flags. `providers.ts` reads them. */
export const providerOptions: readonly OptionSpec[] = [
  {
    flags: '--from-pod-args <workload>',
    about:
      'take the --clusterprofile-* flags of a Deployment: a manifest file, or [NAMESPACE/]deployment/NAME on the hub',
    completes: 'files',
  },
  { flags: '--container <name>', about: 'its container (default: the one with such flags)' },
];

/** `-o` with these formats, beside the table. */
export function outputOptions(...choices: readonly ('json' | 'yaml' | 'wide' | 'name')[]): readonly OptionSpec[] {
  return [
    { flags: '-o, --output <format>', about: 'output format', choices },
    ...(choices.includes('wide') ? [{ flags: '--no-headers', about: 'omit the header line' }] : []),
  ];
}
