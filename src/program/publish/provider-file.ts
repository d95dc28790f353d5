/** The provider file that `publish` writes. Existing content stays as it is, comments too. */
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { type Document, isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import {
  checkYaml,
  errnoOf,
  type Provider,
  parseProviderFile,
  providersSchema,
  tryParseJson,
} from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import { updateFile } from '../kubeconfig/update-file.ts';

/** `text` is `undefined` if there is no file. Throws a `ConfigurationError` with every problem of the file. */
export function readProviders(path: string): { readonly text?: string; readonly providers: readonly Provider[] } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return { providers: [] };
    throw Failure.configuration(`provider file ${path} cannot be read (${errnoOf(error)})`, 'correct the path');
  }
  const { content } = checkYaml(text, providersSchema);
  if (content === null) return { text, providers: [] };
  parseProviderFile(text, path);
  const { providers } = content as { readonly providers: readonly Provider[] }; // as it was found to be
  return { text, providers };
}

/** The text with these providers; the same, if none has changed. JSON stays JSON, which the Go library needs; a new file is JSON if its name ends so. */
export function withProviders(
  path: string,
  before: string | undefined,
  providers: readonly Provider[],
  changed: ReadonlySet<string>,
): string {
  if (before !== undefined && changed.size === 0) return before;
  const isJson = before === undefined ? extname(path) === '.json' : tryParseJson(before) !== undefined;
  if (isJson) return `${JSON.stringify({ providers }, null, 2)}\n`;
  const document = parseDocument(before ?? '');
  const list = document.get('providers');
  if (isSeq(list) && list.items.length > 0) {
    for (const provider of providers.filter(({ name }) => changed.has(name))) {
      const entry = list.items.find((item) => isMap(item) && item.get('name') === provider.name);
      if (isMap(entry)) widenEntry(document, entry, provider);
      else list.add(document.createNode(provider, plain));
    }
  } else document.set('providers', document.createNode(providers, plain));
  // As most of these files are written, or as this one is.
  return document.toString({ ...plain, indentSeq: !/^- /m.test(before ?? '') });
}

/** Without aliases and broken lines. */
const plain = { lineWidth: 0, aliasDuplicateObjects: false };

/** Adds to the lists of a provider what they lack, and sets what it has not. Nothing else of it changes. */
function widenEntry(document: Document, entry: YAMLMap, provider: Provider): void {
  for (const [field, value] of Object.entries(provider)) {
    const before = entry.get(field);
    if (isSeq(before) && Array.isArray(value)) {
      for (const added of value.slice(before.items.length)) before.add(document.createNode(added));
      // A value in the place of another keeps its comment, which a node would not.
    } else if (typeof value !== 'object') entry.set(field, value);
    else if (before === undefined) entry.set(field, document.createNode(value, plain));
  }
}

/** Replaces the file, unless another program has changed it in the meantime. Rejects with a `Failure`. */
export async function writeProviders(
  path: string,
  before: string | undefined,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  await updateFile(path, signal, (now) => {
    if (now === before) return text;
    throw Failure.configuration(`${path} has been changed by another program meanwhile: run publish again`);
  });
}
