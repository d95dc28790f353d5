/** What a verb of the program is: its arguments and options, and the options that several of them have. */
import type { ExitCode } from './failure.ts';
import type { Terminal } from './terminal.ts';

/**
 * Options as the help shows them, and what they do: `-o, --output <json|yaml>`. The word in brackets says what completion offers for the
 * value, and with `|` what may be given. An option may be given more than once: the last value counts, unless its verb reads them all.
 */
type OptionTable = Readonly<Record<string, string>>;

/** `name` is the long one without dashes, by which `Options` has it; `value` is the word for its value, `undefined` if it takes none. */
export function specsOf(table: OptionTable) {
  return Object.entries(table).map(([flags, about]) => {
    const [, short, name = '', value] = /^(?:-(\w), )?--([\w-]+)(?: <(.+)>)?$/.exec(flags) ?? [];
    return { name, short, value, about };
  });
}

export type OptionSpec = ReturnType<typeof specsOf>[number];

export interface Verb {
  readonly name: string;
  /** What people type for it who know other programs: a hint names this verb. */
  readonly alsoCalled?: readonly string[];
  /** As the help shows them: `[NAME...]`. The word says what completion offers. */
  readonly arguments?: string;
  /** One line. */
  readonly summary: string;
  /** More of it, for its own help. */
  readonly description?: string;
  readonly options: OptionTable;
  /** Takes the controller's own `--clusterprofile-*` flags. */
  readonly takesProviderFlags?: boolean;
  /** Plugins run, here or later, and may read the hub also if the profiles come from files. */
  readonly runsPlugins?: boolean;
  /** Takes a command after `--`: the verb gets it as `call.command`. */
  readonly takesCommand?: boolean;
  /** Waits after Ctrl-C until the user's own commands have ended, however long they take. */
  readonly hasCommands?: boolean;
  /** What for, and its arguments. */
  readonly examples: Readonly<Record<string, string>>;
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

  /** The same, but for these. */
  with(others: Values): Options {
    return new Options({ ...this.#values, ...others });
  }
}

/** Which hub, and what of it. `context` is the name of the option for its context. */
export const hubOptionsBy = (context: string): OptionTable => ({
  '--kubeconfig <file>': "the hub's kubeconfig (default: what kubectl would use)",
  [`--${context} <context>`]: "the hub's context (default: the current one)",
  '--as <user>': 'the user to impersonate on the hub',
  '--as-group <group>': 'a group to impersonate on the hub; may be repeated',
  '-n, --namespace <namespace>': "the namespace (default: the context's)",
  '--request-timeout <duration>': 'how long to wait for the hub to answer (default: 30s; 0: no limit)',
});
export const hubOptions = hubOptionsBy('context');

/** Of every verb. */
export const commonOptions: OptionTable = {
  '-v, --verbose': 'show requests and plugin runs on stderr, with their times',
};

/** Which ClusterProfile, of verbs that take one name. `profiles.ts` reads them. */
export const oneProfileOptions: OptionTable = {
  ...hubOptions,
  '-f, --filename <file>': 'read ClusterProfiles from a file instead of the hub; - for stdin; may be repeated',
};

/** Which ClusterProfiles. */
export const profileOptions: OptionTable = {
  ...oneProfileOptions,
  '-A, --all-namespaces': 'ClusterProfiles in all namespaces',
  '-l, --selector <labels>': 'ClusterProfiles with these labels: env=prod,tier!=dev',
};

/** Where the access providers come from, beside the `--clusterprofile-*` flags. `providers.ts` reads them. */
export const providerOptions: OptionTable = {
  '--from-pod-args <workload>':
    'take the --clusterprofile-* flags of a Deployment: a manifest file, or [NAMESPACE/]deployment/NAME on the hub',
  '--container <name>': 'its container (default: the one with such flags)',
};

/** `-o` with these formats, beside the table. */
export function outputOptions(...formats: readonly ('json' | 'yaml' | 'wide' | 'name')[]): OptionTable {
  return {
    [`-o, --output <${formats.join('|')}>`]: 'output format',
    ...(formats.includes('wide') ? { '--no-headers': 'omit the header line' } : {}),
  };
}

export const takes = (verb: Verb, option: string) => specsOf(verb.options).some(({ name }) => name === option);

/** The option that names the hub's context: `--context` of `publish` chooses contexts of its source. */
export const hubContextOf = (verb: Verb) => (takes(verb, 'hub-context') ? 'hub-context' : 'context');
