/** A kubeconfig's text and entries come in, the text with the entries goes out: all else stays as it is, comments too. Pure. */
import {
  Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  parseDocument,
  type ScalarTag,
  type Tags,
  type ToStringOptions,
  visit,
  YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { kubernetesTags, kubernetesYaml } from '../../access/yaml-text.ts';
import { escapeInJson, escapeInYaml, quoteActive } from '../print.ts';
import { isEntryOf, type KubeconfigEntry, sourceOf } from './entries.ts';

export interface Merged {
  readonly text: string;
  readonly added: readonly string[];
  readonly updated: readonly string[];
}

/** Why entries cannot be put into the file. */
export class MergeProblem extends Error {}

/** `text` is `undefined` where there is no file yet. Throws a `MergeProblem`. */
export function mergeKubeconfig(text: string | undefined, entries: readonly KubeconfigEntry[]): Merged {
  const document = readKubeconfig(text ?? '');
  const content = contentOf(document);
  const lists = {
    clusters: listOf(document, content, 'clusters'),
    users: listOf(document, content, 'users'),
    contexts: listOf(document, content, 'contexts'),
  };
  const added: string[] = [];
  const updated: string[] = [];
  for (const { name, profile, cluster, user } of entries) {
    const found = Object.values(lists).map((list) => itemNamed(document, list, name));
    const isThere = found.some((item) => item !== undefined);
    const before: unknown = Object(found[1]?.toJS(document)).user;
    if (isThere && !isEntryOf(profile, before)) {
      throw new MergeProblem(
        `has an entry ${name} that is not of clusterprofile: rename it (kubectl config rename-context), or remove it`,
      );
    }
    if (isThere) refuseOtherSource(name, sourceOf(before), sourceOf(user));
    put(document, lists.clusters, name, 'cluster', cluster);
    put(document, lists.users, name, 'user', user);
    // The namespace of a context is its user's to choose.
    if (!found[2]) put(document, lists.contexts, name, 'context', { cluster: name, user: name });
    (isThere ? updated : added).push(name);
  }
  const [only, second] = entries;
  if (only && !second && !content['current-context'])
    document.set('current-context', quoteActive(document.createNode(only.name)));
  return { text: textOf(document, text ?? ''), added, updated };
}

/** The user of a context must not get another cluster of the same name without an error. */
function refuseOtherSource(name: string, before: readonly string[], now: readonly string[]): void {
  if (before.join('\n') === now.join('\n')) return;
  const told = (source: readonly string[]) => source.join(' ') || 'the current hub';
  throw new MergeProblem(
    `has an entry ${name} of another source (${told(before)}, and now ${told(now)}): merge into another file, or remove it first ` +
      '(kubectl config delete-context, delete-cluster and delete-user)',
  );
}

function readKubeconfig(text: string): Document {
  if (text.trim() === '') return new Document({ apiVersion: 'v1', kind: 'Config' }, asWritten);
  const options = { ...asWritten, intAsBigInt: true, prettyErrors: true, logLevel: 'error' } as const;
  const document = parseDocument(text, options) as Document; // its contents may become others
  const [error] = document.errors;
  // A parser's message quotes the text, in which there may be secrets.
  if (error) {
    const what = error.code.toLowerCase().replaceAll('_', ' ');
    throw new MergeProblem(`line ${error.linePos?.[0].line ?? 1} is neither JSON nor YAML (${what}): correct it first`);
  }
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  if (!isEmpty && !isMap(contents)) throw new MergeProblem('is not a kubeconfig: it has to be an object');
  if (isEmpty) document.contents = new YAMLMap(document.schema);
  return document;
}

/** A value that YAML reads as a number may be a token. So scalars of the file are written back as they were. */
const asWritten = {
  ...kubernetesYaml,
  customTags: (tags: Tags): Tags =>
    kubernetesTags(tags).map((tag) => (isScalarTag(tag) ? { ...tag, stringify: written(tag) } : tag)),
};

function isScalarTag(tag: Tags[number]): tag is ScalarTag {
  return typeof tag === 'object' && tag.collection === undefined;
}

function written(tag: ScalarTag): NonNullable<ScalarTag['stringify']> {
  return (item, context, ...rest) => {
    const source = item.type === 'PLAIN' && typeof item.value !== 'string' ? item.source : undefined;
    // Not every parser reads a value of no text in braces: that is written as null.
    if (source === '' && context.inFlow) return 'null';
    const text = source ?? tag.stringify?.(item, context, ...rest) ?? String(item.value);
    if (item.type !== 'QUOTE_DOUBLE') return text;
    return context.options.doubleQuotedAsJSON ? escapeInJson(text) : escapeInYaml(text);
  };
}

/** With aliases and `<<` followed. */
function contentOf(document: Document): Readonly<Record<string, unknown>> {
  try {
    return Object(document.toJS());
  } catch {
    throw new MergeProblem('holds an alias that cannot be resolved, or too many of them: write the values out');
  }
}

function textOf(document: Document, before: string): string {
  try {
    return document.toString(formOf(before));
  } catch {
    throw aliasProblem('an entry of clusterprofile');
  }
}

function aliasProblem(where: string): MergeProblem {
  return new MergeProblem(`has ${where} with an anchor (&), an alias (*) or << in it: write the values out`);
}

/** A list of the file, made where there is none. */
function listOf(document: Document, content: Readonly<Record<string, unknown>>, field: string): YAMLSeq {
  const found = document.get(field, true);
  if (isSeq(found)) {
    // An empty one is written as [], and would take its entries into that line.
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  const isOfAlias = found === undefined && Boolean(content[field]);
  if (isOfAlias || isAlias(found)) throw aliasProblem(`the list ${field}`);
  const isEmpty = found === undefined || (isScalar(found) && found.value === null);
  if (!isEmpty) throw new MergeProblem(`${field} has to be a list: correct it first`);
  const list = document.createNode([]);
  document.set(field, list);
  return list as YAMLSeq; // of a list
}

/** Throws a `MergeProblem` where it has its name by an alias or `<<`: it stands in two places, and may be of two. */
function itemNamed(document: Document, list: YAMLSeq, name: string): YAMLMap | undefined {
  for (const item of list.items) {
    if (isMap(item) && item.get('name') === name) return item;
    if (isNode(item) && Object(item.toJS(document)).name === name) throw aliasProblem(`the entry ${name}`);
  }
  return undefined;
}

function put(document: Document, list: YAMLSeq, name: string, field: string, value: object): void {
  const item = itemNamed(document, list, name);
  if (!item) {
    list.add(quoteActive(document.createNode({ [field]: value, name })));
    return;
  }
  // An alias elsewhere would mean something else, or nothing.
  visit(item, {
    Node: (_, node) => {
      if ('anchor' in node && node.anchor) throw aliasProblem(`the entry ${name}`);
    },
  });
  item.set(field, quoteActive(document.createNode(value)));
}

/** How the file is written already: JSON, or YAML with lists that are moved in or not; kubectl does not. */
function formOf(text: string): ToStringOptions {
  if (/^\s*\{/.test(text)) {
    return {
      collectionStyle: 'flow',
      defaultKeyType: 'QUOTE_DOUBLE',
      defaultStringType: 'QUOTE_DOUBLE',
      doubleQuotedAsJSON: true,
      lineWidth: 0,
    };
  }
  return { lineWidth: 0, indentSeq: /^(?:clusters|users|contexts):[^\S\n]*\n+[^\S\n]+- /m.test(text) };
}
