/** Converts arguments in kubectl's style into those that commander reads. */

/** The arguments, split into those for commander and the others. */
export interface SplitArguments {
  readonly own: readonly string[];
  /** After the first `--`. */
  readonly command: readonly string[] | undefined;
}

export function splitArguments(argv: readonly string[]): SplitArguments {
  const end = argv.indexOf('--');
  return end < 0 ? { own: argv, command: undefined } : { own: argv.slice(0, end), command: argv.slice(end + 1) };
}

/** `-n fleet get` is `get -n fleet`: each verb has its own options. `takesValue` gets `-n`, or `--namespace`. */
export function verbFirst(own: readonly string[], takesValue: (option: string) => boolean): readonly string[] {
  let at = 0;
  for (let word = own[0]; word?.startsWith('-') && !/^(?:-V|--version)$/.test(word); word = own[at]) {
    at += takesValue(word) ? 2 : 1;
  }
  const [verb, ...after] = own.slice(at);
  return verb === undefined || verb.startsWith('-') ? own : [verb, ...own.slice(0, at), ...after];
}

/** Whether there is a `--clusterprofile-*` flag, or a misspelt one. */
export function hasProviderFlags(own: readonly string[]): boolean {
  return own.some((argument) => /^--?clusterprofile[-_]/i.test(argument));
}

/**
 * kubectl takes `-o=json` as well as `-o json`, and `--watch=true` as well as `--watch`, and `-v=6`. `switches` are the
 * options that take no value.
 */
export function normalizeArguments(own: readonly string[], switches: ReadonlySet<string>): readonly string[] {
  return own.flatMap((argument) => {
    const [, short, value] = /^(-[A-Za-z])=(.*)$/s.exec(argument) ?? [];
    if (short !== undefined && value !== undefined) {
      if (!switches.has(short)) return [short, value];
      return /^(?:false|0)$/.test(value) ? [] : [short];
    }
    const [, name = '', truth] = /^(--[a-z-]+)=(true|false)$/.exec(argument) ?? [];
    if (!switches.has(name)) return [argument];
    return truth === 'true' ? [name] : [];
  });
}
