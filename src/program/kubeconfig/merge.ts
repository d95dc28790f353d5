/** Merges entries into the text of a kubeconfig. Everything else stays as it is, including comments. Pure. */
import {
  Document,
  isMap,
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
  const clusters = listOf(document, 'clusters');
  const users = listOf(document, 'users');
  const contexts = listOf(document, 'contexts');
  const added: string[] = [];
  const updated: string[] = [];
  for (const { name, profile, cluster, user } of entries) {
    const isThere = [clusters, users, contexts].some(({ byName }) => byName.has(name));
    const before: unknown = Object(users.byName.get(name)?.toJS(document)).user;
    if (isThere && !isEntryOf(profile, before)) {
      throw new MergeProblem(
        `has an entry ${name} that is not of clusterprofile: rename it (kubectl config rename-context), or remove it`,
      );
    }
    if (isThere) refuseOtherSource(name, sourceOf(before), sourceOf(user));
    put(document, clusters, name, 'cluster', cluster);
    put(document, users, name, 'user', user);
    // The user may have chosen a namespace for the context.
    if (!contexts.byName.has(name)) put(document, contexts, name, 'context', { cluster: name, user: name });
    (isThere ? updated : added).push(name);
  }
  const [only, second] = entries;
  if (only && !second && !document.get('current-context')) document.set('current-context', only.name);
  return { text: document.toString(formOf(text ?? '')), added, updated };
}

/** The user of a context must not get another cluster of the same name without an error. */
function refuseOtherSource(name: string, before: readonly string[], now: readonly string[]): void {
  if (before.join('\n') === now.join('\n')) return;
  const named = (source: readonly string[]) => source.join(' ') || 'the current hub';
  throw new MergeProblem(
    `has an entry ${name} of another source (${named(before)}, and now ${named(now)}): merge into another file, or remove it first ` +
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
  // An entry behind an alias stands in two places.
  visit(document, {
    Alias: () => {
      throw new MergeProblem('has an alias (*) in it: write the values out');
    },
  });
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
    return source ?? tag.stringify?.(item, context, ...rest) ?? String(item.value);
  };
}

/** A list of the file, and its entries. */
interface NamedList {
  readonly items: YAMLSeq;
  readonly byName: Map<unknown, YAMLMap>;
}

/** Makes the list where there is none. */
function listOf(document: Document, field: string): NamedList {
  const found = document.get(field, true);
  if (isSeq(found)) {
    // An empty one is written as [], and would take its entries into that line.
    if (found.items.length === 0) found.flow = false;
    return { items: found, byName: new Map(found.items.filter(isMap).map((item) => [item.get('name'), item])) };
  }
  const isEmpty = found === undefined || (isScalar(found) && found.value === null);
  if (!isEmpty) throw new MergeProblem(`${field} has to be a list: correct it first`);
  const items = document.createNode([]) as YAMLSeq; // of a list
  document.set(field, items);
  return { items, byName: new Map() };
}

function put(document: Document, { items, byName }: NamedList, name: string, field: string, value: object): void {
  const item = byName.get(name);
  if (item) item.set(field, document.createNode(value));
  else items.add(document.createNode({ [field]: value, name }));
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
