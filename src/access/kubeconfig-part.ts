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

const [newline, blank, comment, dashSign] = [10, 32, 35, 45];

/** `undefined` if it is not what kubectl writes: a line for each key at the top, and lists whose items begin with a dash. */
function scan(text: string): Scanned | undefined {
  if (['\r', '\t', '\ufeff'].some((one) => text.includes(one))) return undefined;
  const entries = { clusters: new Map(), users: new Map(), contexts: new Map() };
  const seen = new Set<string>();
  let rest = '';
  let list: List | undefined;
  let dash = -1;
  /** Where the item, or the section that is not a list, begins. */
  let start = 0;
  /** The item's `name:`: `''` until it is found, `undefined` if there are two or it cannot be read. */
  let name: string | undefined = '';
  let hasItem = false;
  const endAt = (end: number): boolean => {
    if (list === undefined) rest += text.slice(start, end);
    else if (hasItem) {
      if (!name || entries[list].has(name)) return false;
      entries[list].set(name, `${text.slice(start, end)}\n`);
    }
    start = end;
    hasItem = false;
    return true;
  };
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.indexOf('\n', at);
    const next = lineEnd < 0 ? text.length : lineEnd + 1;
    let first = at;
    while (text.charCodeAt(first) === blank) first++;
    const column = first - at;
    const character = first < text.length ? text.charCodeAt(first) : newline;
    if (character !== newline && character !== comment) {
      if (character === dashSign && list !== undefined && (dash < 0 || column === dash)) {
        if (text.charCodeAt(first + 1) !== blank || text.charCodeAt(first + 2) === blank || !endAt(at))
          return undefined;
        dash = column;
        hasItem = true;
        name = '';
        first += 2;
      } else if (column === 0) {
        const [, key, value = ''] = /^([A-Za-z][\w-]*):(?: +(.*))?$/.exec(text.slice(at, next).trimEnd()) ?? [];
        if (key === undefined || seen.has(key) || /^[&*!|>]/.test(value) || !endAt(at)) return undefined;
        seen.add(key);
        list = value === '' ? lists.find((one) => one === key) : undefined;
        dash = -1;
        // The key of a list is written anew.
        if (list !== undefined) start = next;
      } else if (list !== undefined && (!hasItem || column <= dash)) return undefined;
      // The fields of an item are two further in than its dash.
      if (hasItem && first === at + dash + 2 && text.startsWith('name:', first))
        name = name === '' ? scalarOf(text.slice(first + 5, next).trim()) : undefined;
    }
    at = next;
  }
  return endAt(text.length) ? { rest, entries } : undefined;
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
