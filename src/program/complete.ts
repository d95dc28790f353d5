/**
 * Completes a command line: returns suggestions for its last word. Shell scripts and kubectl call it, in the form of cobra's programs:
 * a line for each suggestion, with a tab before its description, and a directive.
 */
import { readFileSync } from 'node:fs';
import { flagOptions, listAt, textAt } from '../diagnose/index.ts';
import { readWords } from './command-line.ts';
import { readDefaults, withDefaults } from './config.ts';
import { isReadOnce, kubeconfigPaths } from './input.ts';
import { parseManifest, profilesOf } from './profiles.ts';
import { namespaces } from './resources.ts';
import type { Terminal } from './terminal.ts';
import { type Call, commonOptions, type OptionSpec, specsOf } from './verb.ts';
import { scripts } from './verbs/completion.ts';
import { verbs } from './verbs.ts';

/** Suggestions, or the wish that the shell offers the names of files. */
type Suggestions = readonly { readonly value: string; readonly about?: string }[] | 'files';

/** cobra's `ShellCompDirectiveDefault` and `ShellCompDirectiveNoFileComp`. */
const directives = { files: 0, none: 4 } as const;

/** Prints the suggestions for the last of the words. Shows no errors, since they would disturb the prompt. */
export async function complete(words: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<void> {
  const joined = joinEquals(words);
  const found = await suggest(joined, terminal, signal).catch((): Suggestions => []);
  const suggestions = found === 'files' ? [] : found.filter(({ value }) => value.startsWith(joined.at(-1) ?? ''));
  const lines = suggestions.map(({ value, about = '' }) => `${value}\t${about}\n`);
  await terminal.write(`${lines.join('')}:${found === 'files' ? directives.files : directives.none}\n`);
}

/** What could stand there, whatever the beginning of the last word is. */
async function suggest(words: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<Suggestions> {
  const current = words.at(-1) ?? '';
  // Go's flags may have one dash.
  const before = words.slice(0, -1).map((word) => word.replace(/^-(?=clusterprofile-)/, '--'));
  const { names, given, options } = readWords(before, providerSpecs);
  const [verbName] = names;
  const waiting = given.find(({ lacksValue }) => lacksValue);
  const all = verbs.map(({ name, summary }) => ({ value: name, about: summary }));
  // A verb is no value of an option.
  if (verbName === undefined) return waiting ? [] : [...all, { value: 'help', about: 'show the help of a verb' }];
  if (verbName === 'help') return all;
  const verb = verbs.find(({ name }) => name === verbName);
  if (!verb) return [];
  if (before.includes('--')) return 'files';
  const own = specsOf({ ...verb.options, ...commonOptions });
  const specs = [...own, ...(verb.takesProviderFlags ? providerSpecs : [])];
  // What is wrong with the user's file is not said at a prompt.
  const defaults = await readDefaults().catch(() => undefined);
  const withFile = withDefaults(defaults, verb, { options, providerFlags: [] });
  const call: Call = { program: 'clusterprofile', verb, args: [], command: [], terminal, signal, ...withFile };
  const wordOf = (option: string) => specs.find(({ name }) => name === option)?.value;
  if (waiting) return valuesFor(wordOf(waiting.name), current, call);
  const [, name, start = ''] = /^--([\w-]+)=(.*)$/s.exec(current) ?? [];
  if (name !== undefined) {
    const values = await valuesFor(wordOf(name), start, call);
    return values === 'files' ? values : values.map(({ value }) => ({ value: `--${name}=${value}` }));
  }
  if (current.startsWith('-')) {
    const options = specs.map(({ name, about }) => ({ value: `--${name}`, about }));
    return [...options, { value: '--help', about: 'show the help' }];
  }
  return valuesFor(verb.arguments?.replace(/\W/g, ''), current, call);
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
const providerSpecs: readonly OptionSpec[] = Object.entries(flagOptions).map(([name, { type }]) => {
  const value = /file$/.test(name) ? 'file' : 'value';
  return { name, short: undefined, value: type === 'string' ? value : undefined, about: "the controller's flag" };
});

/** Suggestions for a word in brackets of the help. `start` is the part that has been typed. */
async function valuesFor(word = '', start: string, call: Call): Promise<Suggestions> {
  if (['file', 'FILE', 'workload', 'command'].includes(word)) return 'files';
  const choices = word === 'SHELL' ? Object.keys(scripts) : word.includes('|') ? word.split('|') : undefined;
  const names = choices ?? (await readNames(word, start, call));
  return names.map((value) => ({ value }));
}

/** Milliseconds until completion gives up. */
const patienceMs = 10_000;

/** Names that can be typed at a prompt without quotes, and that contain no control characters. */
const isPlain = (name: string) => /^[\w@:./-]+$/.test(name);

/** The names that a word in brackets stands for, and how they are read. */
const readers: Readonly<Record<string, (call: Call, start: string) => Promise<readonly string[]>>> = {
  NAME: readProfiles,
  profile: readProfiles,
  namespace: readNamespaces,
  context: readContexts,
};

async function readNames(word: string, start: string, given: Call): Promise<readonly string[]> {
  const { options } = given;
  // Reading stdin or a pipe would block the prompt, and take the data from the command itself.
  if ([...options.texts('filename'), ...kubeconfigPaths(options.text('kubeconfig'))].some(isReadOnce)) return [];
  const call = { ...given, signal: AbortSignal.any([given.signal, AbortSignal.timeout(patienceMs)]) };
  const names = (await readers[word]?.(call, start)) ?? [];
  return names.filter(isPlain).sort();
}

async function readProfiles(call: Call, start: string): Promise<readonly string[]> {
  const { options } = call;
  const [namespace] = start.split('/');
  // What stands before the slash says where to look.
  const inOne = start.includes('/') ? { namespace, 'all-namespaces': false } : {};
  const isQualified = start.includes('/') || options.has('all-namespaces');
  const profiles = await profilesOf({ ...call, options: options.with(inOne) });
  return profiles.flatMap(({ metadata }) => {
    const { namespace = '', name } = metadata ?? {};
    if (name === undefined) return [];
    return [isQualified && namespace !== '' ? `${namespace}/${name}` : name];
  });
}

async function readNamespaces(call: Call): Promise<readonly string[]> {
  const { openHub } = await import('./hub.ts');
  const hub = await openHub(call);
  const found = await hub.list(namespaces, undefined);
  return found.flatMap((one) => textAt(one, 'metadata', 'name') ?? []);
}

/** Of the files that kubectl would read; one that cannot be read has none. */
async function readContexts({ options }: Call): Promise<readonly string[]> {
  const names = kubeconfigPaths(options.text('kubeconfig')).flatMap((file) => {
    try {
      return parseManifest(readFileSync(file, 'utf8'), file).flatMap((kubeconfig) =>
        listAt(kubeconfig, 'contexts').flatMap((context) => textAt(context, 'name') ?? []),
      );
    } catch {
      return [];
    }
  });
  return [...new Set(names)];
}
