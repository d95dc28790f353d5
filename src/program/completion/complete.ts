/**
 * What could come next on a command line: the words so far come in, suggestions go out. A shell's script asks for it, and so does
 * kubectl, in the form that cobra's programs have: a line for each suggestion, a tab before what it means, and a directive.
 */
import { flagOptions } from '../../access/flags.ts';
import type { Terminal } from '../terminal.ts';
import { type Call, type Completes, type OptionSpec, Options, type Verb } from '../verb.ts';
import { verbs } from '../verbs.ts';
import { readNames } from './names.ts';

interface Suggestion {
  readonly value: string;
  readonly about?: string;
}

/** Suggestions, or the wish that the shell offers the names of files. */
type Suggestions = readonly Suggestion[] | 'files';

/** cobra's `ShellCompDirectiveDefault` and `ShellCompDirectiveNoFileComp`. */
const directives = { files: 0, none: 4 } as const;

/** Prints the suggestions for the last of the words. Shows no errors, since they would disturb the prompt. */
export async function complete(words: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<void> {
  const found = await suggest(joinEquals(words), terminal, signal).catch((): Suggestions => []);
  const lines = found === 'files' ? [] : found.map(({ value, about = '' }) => `${value}\t${about}\n`);
  await terminal.write(`${lines.join('')}:${found === 'files' ? directives.files : directives.none}\n`);
}

async function suggest(words: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<Suggestions> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const verbName = before.find((word) => !word.startsWith('-'));
  const verb = verbs.find(({ name }) => name === verbName);
  if (!verb) {
    const names = [...verbs.map(({ name, summary }) => ({ value: name, about: summary }))];
    const isHelp = verbName === 'help';
    if (verbName !== undefined && !isHelp) return [];
    const help = isHelp ? [] : [{ value: 'help', about: 'show the help of a verb' }];
    return startingWith(current, [...names, ...help]);
  }
  if (before.includes('--')) return 'files';
  const given = readGiven(before.slice(before.indexOf(verb.name) + 1), verb);
  const call: Call = {
    program: 'clusterprofile',
    verb,
    args: [],
    options: new Options(given.values),
    providerFlags: [],
    command: [],
    terminal,
    signal,
  };
  if (given.waiting) return valuesOf(given.waiting, current, '', call);
  const [, name, start] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? [];
  if (name !== undefined && start !== undefined) {
    const spec = specsOf(verb).find((one) => namesOf(one).includes(name));
    return spec ? valuesOf(spec, start, `${name}=`, call) : [];
  }
  if (current.startsWith('-')) return startingWith(current, optionsOf(verb));
  return valuesFor(verb.completes ?? 'nothing', current, '', call);
}

/** bash splits `--output=json` into three words. */
function joinEquals(words: readonly string[]): readonly string[] {
  return words.flatMap((word, index) => {
    const isLast = index === words.length - 1;
    if (word !== '=' || index === 0 || !words[index - 1]?.startsWith('--')) return [word];
    return isLast ? [''] : [];
  });
}

/** Our own flags of the controller, in the form of the others. */
const providerSpecs: readonly OptionSpec[] = Object.entries(flagOptions).map(([name, { type }]) => ({
  flags: type === 'string' ? `--${name} <value>` : `--${name}`,
  about: "the controller's flag",
  completes: /file$/.test(name) ? 'files' : 'nothing',
}));

const specsOf = (verb: Verb) => [...verb.options, ...(verb.takesProviderFlags ? providerSpecs : [])];
const namesOf = ({ flags }: OptionSpec) => flags.replace(/ <.*/, '').split(', ');
const takesValue = ({ flags }: OptionSpec) => flags.includes('<');

function optionsOf(verb: Verb): readonly Suggestion[] {
  const own = specsOf(verb).map((spec) => ({ value: namesOf(spec).at(-1) ?? '', about: spec.about }));
  return [...own, { value: '--help', about: 'show the help' }];
}

interface Given {
  readonly values: Readonly<Record<string, unknown>>;
  /** An option whose value is the current word. */
  readonly waiting: OptionSpec | undefined;
}

function readGiven(words: readonly string[], verb: Verb): Given {
  const values: Record<string, unknown> = {};
  let waiting: OptionSpec | undefined;
  for (const word of words) {
    if (waiting) {
      const key = namesOf(waiting).at(-1)?.slice(2) ?? '';
      const earlier: unknown = values[key];
      values[key] = waiting.multiple ? [...(Array.isArray(earlier) ? earlier : []), word] : word;
      waiting = undefined;
      continue;
    }
    const [, name = '', value] = /^(--?[^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const spec = specsOf(verb).find((one) => namesOf(one).includes(name));
    if (!spec) continue;
    const key = namesOf(spec).at(-1)?.slice(2) ?? '';
    if (!takesValue(spec)) values[key] = true;
    else if (value === undefined) waiting = spec;
    else values[key] = spec.multiple ? [value] : value;
  }
  return { values, waiting };
}

function valuesOf(spec: OptionSpec, start: string, prefix: string, call: Call): Promise<Suggestions> | Suggestions {
  const { choices } = spec;
  if (choices)
    return startingWith(
      start,
      choices.map((value) => ({ value })),
      prefix,
    );
  return valuesFor(spec.completes ?? 'files', start, prefix, call);
}

async function valuesFor(completes: Completes, start: string, prefix: string, call: Call): Promise<Suggestions> {
  if (completes === 'nothing') return [];
  if (completes === 'files') return 'files';
  if (completes === 'shells')
    return startingWith(
      start,
      ['bash', 'zsh', 'fish'].map((value) => ({ value })),
      prefix,
    );
  const names = await readNames(completes, start, call);
  return startingWith(
    start,
    names.map((value) => ({ value })),
    prefix,
  );
}

function startingWith(start: string, all: readonly Suggestion[], prefix = ''): readonly Suggestion[] {
  return all
    .filter(({ value }) => value.startsWith(start))
    .map(({ value, ...more }) => ({ value: prefix + value, ...more }));
}
