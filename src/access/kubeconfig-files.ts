/**
 * Merges kubeconfigs as kubectl merges the files of KUBECONFIG: of several entries with one name the first counts, as a whole. Of large
 * ones finds one context, its cluster and its user without parsing the rest. Pure.
 */
import { isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { optionalText } from './cluster-profile.ts';
import { keysOf, mustBe } from './schema-problems.ts';
import { checkYaml, kubernetesYaml } from './yaml-text.ts';

/** One kubeconfig. */
export interface KubeconfigText {
  readonly text: string;
  /** The path of its file, for errors. */
  readonly path: string | undefined;
  /** The folder of relative paths in it; without one they stay as they are. */
  readonly directory: string | undefined;
}

const fieldOf = { clusters: 'cluster', users: 'user', contexts: 'context' } as const;
export type ListName = keyof typeof fieldOf;
const listNames = ['clusters', 'users', 'contexts'] as const;

/** An entry of `clusters`, `users` or `contexts`. */
export interface KubeconfigEntry {
  readonly name: string;
  /** The value of `cluster`, `user` or `context`, not checked yet. */
  readonly value: unknown;
  /** Its path: `clusters[0].cluster`. */
  readonly at: string;
  readonly file: KubeconfigFile;
}

/** The file of an entry. */
interface KubeconfigFile {
  /** `kubeconfig /home/me/.kube/config` */
  readonly where: string;
  /** A problem at a path in the file, with its place. */
  readonly problemAt: (path: string, message: string) => Problem;
  /** Resolves a relative path in the file. */
  readonly inFolder: (path: string) => string;
}

/** The merged files. */
export interface MergedKubeconfig extends Pick<KubeconfigFile, 'where' | 'problemAt'> {
  readonly lists: { readonly [K in ListName]: ReadonlyMap<string, KubeconfigEntry> };
  readonly currentContext: string | undefined;
  /** Of the files as such, for example two entries of one name. */
  readonly problems: readonly Problem[];
}

/** @throws ConfigurationError (`KUBECONFIG_INVALID`) if there are problems */
export function refuseProblems({ where, problems }: Pick<MergedKubeconfig, 'where' | 'problems'>): void {
  if (problems.length > 0) throw new ConfigurationError('KUBECONFIG_INVALID', where, problems);
}

/** Any text; absent if it is empty. */
export const anyText = optionalText('text (quote numbers and booleans)');

const entries = (field: string) =>
  z
    .array(
      z
        .looseObject({ name: z.string(mustBe('text')).nullish() }, mustBe('an object with a name'))
        // An entry without a name is never found.
        .transform((entry) => ({ name: entry.name ?? '', value: entry[field] })),
      mustBe('a list'),
    )
    .nullish()
    .transform((value) => value ?? []);

const kubeconfigFields = z.object(
  {
    apiVersion: anyText.refine((version) => version === undefined || version === 'v1', mustBe('v1')),
    kind: anyText.refine((kind) => kind === undefined || kind === 'Config', mustBe('Config: this is no kubeconfig')),
    clusters: entries(fieldOf.clusters),
    users: entries(fieldOf.users),
    contexts: entries(fieldOf.contexts),
    'current-context': anyText,
    extensions: z.unknown().optional(),
  },
  mustBe('an object with clusters, users and contexts'),
);
// As in client-go: an empty file is an empty kubeconfig.
const kubeconfigSchema = z.preprocess((content) => content ?? {}, kubeconfigFields);

/** @throws ConfigurationError (`KUBECONFIG_INVALID`) with every file that cannot be parsed at all */
export function mergeKubeconfigs(texts: readonly KubeconfigText[]): MergedKubeconfig {
  const problems: Problem[] = [];
  const merged: { readonly [K in ListName]: Map<string, KubeconfigEntry> } = {
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  let currentContext: string | undefined;
  const files: KubeconfigFile[] = [];
  for (const { text, path, directory } of texts) {
    const where = texts.length > 1 && path !== undefined ? { file: path } : {};
    const { data: content, problems: found, placeOf } = checkYaml(text, kubeconfigSchema, { dialect: kubernetesYaml });
    problems.push(...found.map((problem) => ({ ...where, ...problem })));
    if (!content) continue;
    const file: KubeconfigFile = {
      where: nameOf([path]),
      problemAt: (at, message) => ({ ...where, path: at, message, ...(at === '' ? {} : placeOf(keysOf(at))) }),
      inFolder: (given) => (directory === undefined || isAbsolute(given) ? given : join(directory, given)),
    };
    files.push(file);
    for (const list of listNames) {
      const places = new Map<string, string>();
      for (const [index, { name, value }] of content[list].entries()) {
        if (name === '') continue;
        const [at, earlier] = [`${list}[${index}].${fieldOf[list]}`, places.get(name)];
        if (earlier === undefined) places.set(name, at);
        else problems.push(file.problemAt(`${list}[${index}].name`, `"${name}" duplicates ${earlier}`));
        if (!merged[list].has(name)) merged[list].set(name, { name, value, at, file });
      }
    }
    currentContext ??= content['current-context'];
  }
  const where = nameOf(texts.map(({ path }) => path));
  if (files.length < texts.length) refuseProblems({ where, problems });
  const [only] = texts.length === 1 ? files : [];
  const problemAt = only?.problemAt ?? ((path, message) => ({ path, message }));
  return { lists: merged, currentContext, where, problems, problemAt };
}

/** `kubeconfig /home/me/.kube/config`, for messages. */
export function nameOf(paths: readonly (string | undefined)[]): string {
  return ['kubeconfig', paths.filter((path) => path !== undefined).join(', ')].join(' ').trim();
}

/** Characters from which it pays. Smaller files are read as a whole, and so checked as a whole. */
const minLength = 64 * 1024;

/** A text, and the texts of its entries. */
interface Scanned {
  /** Everything but the lists. */
  readonly rest: string;
  readonly entries: Readonly<Record<ListName, Map<string, string>>>;
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
  const entry = (list: ListName, name: unknown) =>
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
    const parts = listNames.flatMap((list) => {
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
    const list = value === '' ? listNames.find((one) => one === key) : undefined;
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
