/** Merges entries into the text of a kubeconfig. Everything else keeps its content and its comments. Pure. */
import { isDeepStrictEqual } from 'node:util';
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
import { kubernetesTags, kubernetesYaml } from '../../diagnose/index.ts';
import { type CredentialCommand, type KubeconfigEntry, profileOfUser, sourceOf } from './entries.ts';

export interface Merged {
  readonly text: string;
  readonly added: readonly string[];
  /** Those that were there, and are now others. */
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

export interface MergeOptions {
  /** Becomes the current context. */
  readonly use?: string | undefined;
  /** Removes what `command` has written for ClusterProfiles that are gone. */
  readonly prune?: { readonly command: CredentialCommand; readonly isGone: (profile: string) => boolean } | undefined;
}

/** Why entries cannot be put into the file. */
export class MergeProblem extends Error {}

/** `text` is `undefined` if there is no file yet. Throws a `MergeProblem`. */
export function mergeKubeconfig(
  text: string | undefined,
  entries: readonly KubeconfigEntry[],
  { use, prune }: MergeOptions = {},
): Merged {
  const document = readKubeconfig(text ?? '');
  const clusters = listOf(document, 'clusters');
  const users = listOf(document, 'users');
  const contexts = listOf(document, 'contexts');
  const lists = [clusters, users, contexts];
  const userOf = (item: YAMLMap | undefined): unknown => Object(item?.toJS(document)).user;
  const added: string[] = [];
  const updated: string[] = [];
  for (const { name, profile, cluster, user } of entries) {
    const isThere = lists.some(({ byName }) => byName.has(name));
    const before = userOf(users.byName.get(name));
    if (isThere) {
      refuseOther(name, profile, profileOfUser(before));
      refuseOtherSource(name, sourceOf(before), sourceOf(user));
    }
    const isChanged = [
      put(document, clusters, name, 'cluster', cluster),
      put(document, users, name, 'user', user),
      // The user may have chosen a namespace for the context.
      !contexts.byName.has(name) && put(document, contexts, name, 'context', { cluster: name, user: name }),
    ].includes(true);
    if (!isThere) added.push(name);
    else if (isChanged) updated.push(name);
  }
  const removed = prune ? removeGone(document, lists, users, prune) : [];
  const [only, second] = entries;
  const before = document.get('current-context') || undefined;
  const current = use ?? before ?? (only && !second ? only.name : undefined);
  const all = { added, updated, removed };
  if (text !== undefined && added.length + updated.length + removed.length === 0 && current === before)
    return { text, ...all };
  for (const { field, items } of lists) document.set(field, items);
  if (current !== before) document.set('current-context', current);
  return { text: document.toString(formOf(text ?? '')), ...all };
}

const removeFirst = 'remove it first (kubectl config delete-context, delete-cluster and delete-user)';

function refuseOther(name: string, profile: string, before: string | undefined): void {
  if (before === profile) return;
  if (before !== undefined) {
    throw new MergeProblem(
      `has an entry ${name} of ClusterProfile ${before}, and it would be that of ${profile} too: choose another --context-name, or merge into another file`,
    );
  }
  throw new MergeProblem(
    `has an entry ${name} that is not of clusterprofile: choose another --context-name, or ${removeFirst}`,
  );
}

/** The user of a context must not get another cluster of the same name without an error. */
function refuseOtherSource(name: string, before: readonly string[], now: readonly string[]): void {
  if (before.join('\n') === now.join('\n')) return;
  const named = (source: readonly string[]) => source.join(' ') || 'the current hub';
  throw new MergeProblem(
    `has an entry ${name} of another source (${named(before)}, and now ${named(now)}): merge into another file, or ${removeFirst}`,
  );
}

function removeGone(
  document: Document,
  lists: readonly NamedList[],
  users: NamedList,
  { command, isGone }: NonNullable<MergeOptions['prune']>,
): readonly string[] {
  const source = sourceOf({ exec: { args: command.after, env: command.env } }).join('\n');
  const gone = [...users.byName].flatMap(([name, item]) => {
    const { user }: { user?: unknown } = Object(item.toJS(document));
    const profile = profileOfUser(user);
    const isOurs = profile !== undefined && isGone(profile) && sourceOf(user).join('\n') === source;
    return isOurs && typeof name === 'string' ? name : [];
  });
  const items = new Set(lists.flatMap(({ byName }) => gone.map((name) => byName.get(name))));
  for (const list of lists) list.items.items = list.items.items.filter((item) => !isMap(item) || !items.has(item));
  return gone;
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
  if (!isEmpty && !isMap(contents)) throw new MergeProblem('is not a kubeconfig: it must be an object');
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
    return source ?? tag.stringify?.(item, context, ...rest) ?? String(item.value);
  };
}

/** A list of the file, and its entries as they were. */
interface NamedList {
  readonly field: string;
  readonly items: YAMLSeq;
  readonly byName: ReadonlyMap<unknown, YAMLMap>;
}

/** An empty one if there is none. */
function listOf(document: Document, field: string): NamedList {
  const found = document.get(field, true);
  const isEmpty = found === undefined || (isScalar(found) && found.value === null);
  if (!isEmpty && !isSeq(found)) throw new MergeProblem(`${field} must be a list: correct it first`);
  const items = isSeq(found) ? found : (document.createNode([]) as YAMLSeq); // of a list
  if (isScalar(found)) items.comment = found.comment ?? null;
  // An empty one is written as [], and would take its entries into that line.
  if (items.items.length === 0) items.flow = false;
  return { field, items, byName: new Map(items.items.filter(isMap).map((item) => [item.get('name'), item])) };
}

/** Returns whether that changes something. */
function put(document: Document, { items, byName }: NamedList, name: string, field: string, value: object): boolean {
  const item = byName.get(name);
  if (!item) items.add(document.createNode({ [field]: value, name }));
  else if (isDeepStrictEqual(withoutNulls(Object(item.toJS(document))[field]), value)) return false;
  else item.set(field, document.createNode(value));
  return true;
}

/** kubectl writes a field that is not set as `null`. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const given = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(given.map(([name, field]) => [name, withoutNulls(field)]));
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
