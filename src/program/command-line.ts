/** Reads a command line as kubectl would: options and the verb in any order. `complete.ts` reads one that is not finished. */
import { parseArgs } from 'node:util';
import { closestMatch } from 'leven';
import { Failure } from './failure.ts';
import { commonOptions, type OptionSpec, Options, specsOf, type Verb } from './verb.ts';
import { verbs } from './verbs.ts';

const frameOptions = specsOf({ '-h, --help': 'show this help', '-V, --version': 'show the version' });
/** A name or a letter means the same to all verbs that take it. */
const allOptions = [...frameOptions, ...specsOf(commonOptions), ...verbs.flatMap(({ options }) => specsOf(options))];

/** Splits the words into names and options, whatever the verb takes. `more` are options beside those of the verbs. */
export function readWords(words: readonly string[], more: readonly OptionSpec[] = []) {
  const specs = [...allOptions, ...more];
  const args = words.flatMap((word) => {
    const [, option = '', value = ''] = /^(--?[a-z-]+)=(.*)$/is.exec(word) ?? [];
    const spec = specs.find(({ name, short }) => option === `--${name}` || option === `-${short}`);
    if (!spec) return word;
    // kubectl takes `-o=json` as well as `-o json`, `--watch=true` as well as `--watch`, and `-v=6`.
    if (spec.value !== undefined) return option.startsWith('--') ? word : [option, value];
    if (/^(?:false|0)$/.test(value)) return [];
    if (/^(?:true|\d+)$/.test(value)) return option;
    throw Failure.usage(`${option} takes no value but true and false`);
  });
  const options = Object.fromEntries(
    specs.map(({ name, short, value }) => {
      const type = value === undefined ? ('boolean' as const) : ('string' as const);
      return [name, { type, multiple: true, ...(short === undefined ? {} : { short }) }];
    }),
  );
  const { values, positionals, tokens } = parseArgs({ args, options, strict: false, tokens: true });
  const given = tokens.flatMap((token) => {
    if (token.kind !== 'option') return [];
    const { name, rawName: written, value } = token;
    return { name, written, lacksValue: value === undefined && options[name]?.type === 'string', value };
  });
  return { names: positionals, given, options: new Options(values) };
}

/** `program` is the name in hints. Throws a `Failure` for words that neither call a verb nor ask for help. */
export function parse(words: readonly string[], program: string) {
  const { names, given, options } = readWords(words);
  const [name, ...args] = names;
  const isNamed = name !== undefined && name !== 'help';
  if (options.has('version')) return 'version' as const;
  if (!isNamed && args[0] === undefined) {
    if (options.has('help') || name === 'help' || words.length === 0) return { helpOf: undefined };
    const unknown = given.find((option) => !allOptions.some((spec) => spec.name === option.name));
    throw unknown ? unknownOption(unknown, frameOptions, program) : problem('a verb is missing', program);
  }
  const verb = findVerb(isNamed ? name : (args[0] ?? ''), program);
  if (!isNamed || options.has('help')) return { helpOf: verb };
  const called = `${program} ${verb.name}`;
  const specs = specsOf({ ...verb.options, ...commonOptions });
  for (const option of given) {
    const spec = specs.find((one) => one.name === option.name);
    if (!spec) throw unknownOption(option, specs, called);
    if (option.lacksValue) throw problem(`--${spec.name} needs a value: <${spec.value}>`, called);
    const choices = spec.value?.includes('|') ? spec.value.split('|') : [option.value];
    if (!choices.includes(option.value)) {
      throw problem(`--${spec.name} ${option.value}: must be one of ${choices.join(', ')}`, called);
    }
  }
  const { arguments: expected = '' } = verb;
  if (expected.startsWith('<') && args.length === 0) {
    throw problem(`missing required argument '${expected.slice(1, -1)}'`, called);
  }
  const most = expected === '' ? 0 : 1;
  if (args.length > most && !expected.includes('...')) {
    const got = args.map((word) => word.replace(/=.*/s, '')).join(' ');
    throw problem(`too many arguments for '${verb.name}': expected ${most}, got ${args.length}: ${got}`, called);
  }
  return { verb, args, options };
}

function findVerb(name: string, program: string): Verb {
  const verb = verbs.find((one) => one.name === name);
  if (verb) return verb;
  const known = verbs.find(({ alsoCalled = [] }) => alsoCalled.includes(name));
  const meant = known?.name ?? nearestOf(name, verbs);
  // What stands behind `=` may be a secret.
  throw problem(`unknown command '${name.replace(/=.*/s, '')}'`, program, meant);
}

type Given = ReturnType<typeof readWords>['given'][number];

function unknownOption({ written, name }: Given, specs: readonly OptionSpec[], called: string): Failure {
  const meant = nearestOf(name, specs);
  return problem(`unknown option '${written}'`, called, meant && `--${meant}`);
}

/** Two letters may be wrong, or one pair of them swapped; not all of a short word. */
function nearestOf(word: string, known: readonly { readonly name: string }[]): string | undefined {
  const names = known.map(({ name }) => name);
  return closestMatch(word, names, { maxDistance: Math.min(2, word.length - 1) });
}

function problem(message: string, called: string, meant?: string): Failure {
  return Failure.usage(message, `${meant === undefined ? '' : `did you mean ${meant}? `}see ${called} --help`);
}
