/** Converts arguments in kubectl's style into those that commander reads. */

/** What is not for commander, and what is. */
export interface SplitArguments {
  readonly own: readonly string[];
  /** After the first `--`. */
  readonly command: readonly string[] | undefined;
}

export function splitArguments(argv: readonly string[]): SplitArguments {
  const end = argv.indexOf('--');
  return end < 0 ? { own: argv, command: undefined } : { own: argv.slice(0, end), command: argv.slice(end + 1) };
}

/** Whether there is a `--clusterprofile-*` flag, or a misspelt one. */
export function hasProviderFlags(own: readonly string[]): boolean {
  return own.some((argument) => /^--?clusterprofile[-_]/i.test(argument));
}

/**
 * kubectl takes `-o=json` as well as `-o json`, and `--watch=true` as well as `--watch`. `switches` are the long names of the
 * options that take no value.
 */
export function normalizeArguments(own: readonly string[], switches: ReadonlySet<string>): readonly string[] {
  return own.flatMap((argument) => {
    const [, short, value] = /^(-[A-Za-z])=(.*)$/s.exec(argument) ?? [];
    if (short !== undefined && value !== undefined) return [short, value];
    const [, name = '', truth] = /^--([a-z-]+)=(true|false)$/.exec(argument) ?? [];
    if (!switches.has(name)) return [argument];
    return truth === 'true' ? [`--${name}`] : [];
  });
}
