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

/** A text with the places of its entries. */
interface Scanned {
  readonly text: string;
  /** Everything but the lists. */
  rest: string;
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
  const found: Scanned = { text, rest: '', entries };
  const seen = new Set<string>();
  let list: List | undefined;
  let dash: number | undefined;
  /** Where the item, or the section that is no list, begins. */
  let start = 0;
  let hasItem = false;
  const endAt = (end: number): boolean => {
    if (list === undefined) found.rest += text.slice(start, end);
    else if (hasItem) {
      const item = text.slice(start, end);
      const name = nameOf(item, dash ?? 0);
      if (name === undefined || entries[list].has(name)) return false;
      entries[list].set(name, item.endsWith('\n') ? item : `${item}\n`);
    }
    start = end;
    return true;
  };
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf('\n', at);
    const next = lineEnd < 0 ? text.length : lineEnd + 1;
    let column = 0;
    while (text[at + column] === ' ') column++;
    const first = text[at + column];
    const isText = first !== undefined && first !== '\n' && first !== '#';
    if (isText && first === '-' && list !== undefined && column === (dash ?? column)) {
      if (text[at + column + 1] !== ' ' || text[at + column + 2] === ' ') return undefined;
      if (!endAt(at)) return undefined;
      dash = column;
      hasItem = true;
    } else if (isText && column === 0) {
      const line = text.slice(at, next).trimEnd();
      const [, key, value = ''] = /^([A-Za-z][\w-]*):(?: +(.*))?$/.exec(line) ?? [];
      if (key === undefined || seen.has(key) || /^[&*!|>]/.test(value) || !endAt(at)) return undefined;
      seen.add(key);
      list = value === '' ? lists.find((one) => one === key) : undefined;
      dash = undefined;
      hasItem = false;
      // The key of a list is written anew.
      if (list !== undefined) start = next;
    } else if (isText && list !== undefined && (!hasItem || column <= (dash ?? 0))) return undefined;
    at = next;
  }
  return endAt(text.length) ? found : undefined;
}

/** The value of `name` of an item, which is as far in as its first field. */
function nameOf(item: string, dash: number): string | undefined {
  const [first, second] = item.matchAll(new RegExp(`^ {${dash}}(?:- |  )name: +(.*)$`, 'gm'));
  return first && !second ? scalarOf(first[1] ?? '') : undefined;
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
