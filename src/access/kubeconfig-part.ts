/**
 * Finds one context, its cluster and its user in the text of large kubeconfigs, without parsing the rest: a file of thousands of clusters
 * takes seconds as YAML, and a client of one of them reads it for every command. Pure.
 */
import { parse } from 'yaml';
import type { KubeconfigText } from './kubeconfig-files.ts';
import { kubernetesYaml } from './yaml-text.ts';

/** Characters from which it pays. Smaller files are read as a whole, and so checked as a whole. */
const minLength = 64 * 1024;

const lists = ['clusters', 'users', 'contexts'] as const;
type List = (typeof lists)[number];

/** A text, and the texts of its entries. */
interface Scanned {
  /** Everything but the lists. */
  readonly rest: string;
  readonly entries: Readonly<Record<List, Map<string, string>>>;
}

/**
 * The same files with that context alone, and its cluster and user. `undefined` for small files, for those that are not written as kubectl
 * and this package write them (JSON, for example), and if an entry is missing or there twice: then the whole text says what is wrong.
 */
export function partOf(
  texts: readonly KubeconfigText[],
  contextName: string | undefined,
): readonly KubeconfigText[] | undefined {
  if (texts.reduce((sum, { text }) => sum + text.length, 0) < minLength) return undefined;
  const scanned = texts.map(({ text }) => scan(text));
  if (!scanned.every((one) => one !== undefined)) return undefined;
  const entry = (list: List, name: unknown) =>
    typeof name === 'string'
      ? scanned.find(({ entries }) => entries[list].has(name))?.entries[list].get(name)
      : undefined;
  const wanted = contextName ?? scanned.map(currentContextOf).find((name) => name !== undefined);
  const contextText = entry('contexts', wanted);
  if (contextText === undefined) return undefined;
  const { cluster, user } = contextOf(contextText);
  const names = { contexts: wanted, clusters: cluster, users: user };
  if (entry('clusters', cluster) === undefined || entry('users', user) === undefined) return undefined;
  return texts.map((one, index) => {
    const { rest = '', entries } = scanned[index] ?? {};
    const parts = lists.flatMap((list) => {
      const name = names[list];
      const item = typeof name === 'string' ? entries?.[list].get(name) : undefined;
      return item === undefined ? [] : [`${list}:\n${item}`];
    });
    return { ...one, text: `${rest}\n${parts.join('')}` };
  });
}

/** `undefined` if it is not what kubectl writes: a line for each key at the top, and lists whose items begin with a dash. */
function scan(text: string): Scanned | undefined {
  if (/[\r\t\ufeff]/.test(text)) return undefined;
  const entries = { clusters: new Map(), users: new Map(), contexts: new Map() };
  const seen = new Set<string>();
  let rest = '';
  for (const section of text.split(/^(?=[^ #\n-])/m)) {
    const [head = ''] = section.split('\n', 1);
    const [, key, value = ''] = /^([A-Za-z][\w-]*):(?: +(.*))?$/.exec(head.trimEnd()) ?? [];
    const isPlain = key !== undefined && !seen.has(key) && !/^[&*!|>]/.test(value);
    if (!isPlain && !hasNoContent(section)) return undefined;
    if (key !== undefined) seen.add(key);
    const list = value === '' ? lists.find((one) => one === key) : undefined;
    if (list === undefined && /^-/m.test(section)) return undefined;
    // The key of a list is written anew.
    if (list === undefined) rest += section;
    else if (!readItems(section.slice(head.length), entries[list])) return undefined;
  }
  return { rest, entries };
}

/** Puts the items of a list under their names. `false` if they are not written as kubectl writes them. */
function readItems(text: string, found: Map<string, string>): boolean {
  // It becomes part of patterns, so it must not be long. kubectl writes none.
  const [, indent = ''] = /^( {0,99})-/m.exec(text) ?? [];
  const [before = '', ...items] = text.split(new RegExp(`^(?=${indent}-)`, 'm'));
  if (!hasNoContent(before)) return false;
  const beginning = new RegExp(`^${indent}- [^ \n]`);
  const furtherOut = new RegExp(`\n {0,${indent.length}}[^ #\n]`);
  const nameField = new RegExp(`^${indent}(?:- |  )name:(.*)`, 'gm');
  for (const item of items) {
    const [name, another] = [...item.matchAll(nameField)].map(([, value = '']) => scalarOf(value.trim()) ?? '');
    if (!beginning.test(item) || furtherOut.test(item) || !name || another !== undefined || found.has(name))
      return false;
    found.set(name, `${item}\n`);
  }
  return true;
}

/** Whether there are only blank lines and comments. */
function hasNoContent(text: string): boolean {
  return !/^ *[^ #\n]/m.test(text);
}

/** A plain or quoted text; `undefined` for what may be something else, such as a number. */
function scalarOf(value: string): string | undefined {
  const [, , quoted] = /^(["'])([^"'\\]*)\1$/.exec(value) ?? [];
  if (quoted !== undefined) return quoted;
  if (/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(value)) return undefined;
  return /^[A-Za-z_/](?:[\w./@+-]|:(?=\S))*$/.test(value) ? value : undefined;
}

function currentContextOf({ rest }: Scanned): string | undefined {
  const [, value] = /^current-context: +(.*)$/m.exec(rest) ?? [];
  return value === undefined ? undefined : scalarOf(value.trimEnd());
}

function contextOf(item: string): { readonly cluster?: unknown; readonly user?: unknown } {
  try {
    return Object(Object(parse(item, kubernetesYaml)?.[0]).context);
  } catch {
    return {};
  }
}
