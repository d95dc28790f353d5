/** A kubeconfig's text and entries come in, the text with the entries goes out: all else stays as it is, comments too. Pure. */
import { Document, isMap, isScalar, isSeq, parseDocument, type ToStringOptions, YAMLMap, type YAMLSeq } from 'yaml';
import { kubernetesYaml } from '../../access/yaml-text.ts';
import { isEntryOf, type KubeconfigEntry } from './entries.ts';

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
  const lists = {
    clusters: listOf(document, 'clusters'),
    users: listOf(document, 'users'),
    contexts: listOf(document, 'contexts'),
  };
  const added: string[] = [];
  const updated: string[] = [];
  for (const { name, profile, cluster, user } of entries) {
    const found = Object.values(lists).map((list) => itemNamed(list, name));
    const isThere = found.some((item) => item !== undefined);
    const before: unknown = found[1]?.toJS(document);
    if (isThere && !isEntryOf(profile, Object(before).user)) {
      throw new MergeProblem(
        `has an entry ${name} that is not of clusterprofile: rename it (kubectl config rename-context), or remove it`,
      );
    }
    put(document, lists.clusters, name, 'cluster', cluster);
    put(document, lists.users, name, 'user', user);
    // The namespace of a context is its user's to choose.
    if (!found[2]) put(document, lists.contexts, name, 'context', { cluster: name, user: name });
    (isThere ? updated : added).push(name);
  }
  const [only, second] = entries;
  if (only && !second && !document.get('current-context')) document.set('current-context', only.name);
  return { text: document.toString(formOf(text ?? '')), added, updated };
}

function readKubeconfig(text: string): Document {
  if (text.trim() === '') return new Document({ apiVersion: 'v1', kind: 'Config' }, { version: '1.1' });
  const options = { ...kubernetesYaml, intAsBigInt: true, prettyErrors: true, logLevel: 'error' } as const;
  const document = parseDocument(text, options) as Document; // its contents may become others
  const [error] = document.errors;
  // A parser's message quotes the text, in which there may be secrets.
  if (error) throw new MergeProblem(`line ${error.linePos?.[0].line ?? 1} is neither JSON nor YAML: mend it first`);
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  if (!isEmpty && !isMap(contents)) throw new MergeProblem('is not a kubeconfig: it has to be an object');
  if (isEmpty) document.contents = new YAMLMap(document.schema);
  return document;
}

/** A list of the file, made where there is none. */
function listOf(document: Document, field: string): YAMLSeq {
  const found = document.get(field, true);
  if (isSeq(found)) {
    // An empty one is written as [], and would take its entries into that line.
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  const isEmpty = found === undefined || (isScalar(found) && found.value === null);
  if (!isEmpty) throw new MergeProblem(`${field} has to be a list: mend it first`);
  const list = document.createNode([]);
  document.set(field, list);
  return list as YAMLSeq; // of a list
}

function itemNamed(list: YAMLSeq, name: string): YAMLMap | undefined {
  return list.items.filter((item) => isMap(item)).find((item) => item.get('name') === name);
}

function put(document: Document, list: YAMLSeq, name: string, field: string, value: object): void {
  const item = itemNamed(list, name);
  if (item) item.set(field, document.createNode(value));
  else list.add(document.createNode({ [field]: value, name }));
}

/** How the file is written already: JSON, or YAML with lists that are moved in or not; kubectl does not. */
function formOf(text: string): ToStringOptions {
  if (/^\s*\{/.test(text)) {
    return { collectionStyle: 'flow', defaultKeyType: 'QUOTE_DOUBLE', defaultStringType: 'QUOTE_DOUBLE', lineWidth: 0 };
  }
  return { lineWidth: 0, indentSeq: /^(?:clusters|users|contexts):[^\S\n]*\n+[^\S\n]+- /m.test(text) };
}
