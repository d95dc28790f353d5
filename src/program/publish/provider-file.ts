/** The provider file that `publish` writes. Existing content stays as it is, comments too. */

import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { isMap, isScalar, isSeq, parseDocument, stringify } from 'yaml';
import { ConfigurationError, errnoOf, type Provider, parseProviderFile, readYaml } from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import { updateFile } from '../kubeconfig/update-file.ts';

export interface ProviderFileContent {
  /** `undefined` if there is no file. */
  readonly text: string | undefined;
  readonly providers: readonly Provider[];
}

/** Throws a `ConfigurationError` with every problem of the file. */
export function readProviders(path: string): ProviderFileContent {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return { text: undefined, providers: [] };
    throw Failure.configuration(`provider file ${path} cannot be read (${errnoOf(error)})`, 'correct the path');
  }
  const invalid = (problems: ConfigurationError['problems']) =>
    new ConfigurationError('PROVIDER_FILE_INVALID', `provider file ${path}`, problems);
  const { content } = readYaml(text, invalid);
  if (content === null || content === undefined) return { text, providers: [] };
  parseProviderFile(text, path);
  const { providers } = content as { readonly providers: readonly Provider[] }; // as it was found to be
  return { text, providers };
}

/** The text with these providers. JSON stays JSON, which the Go library needs; a new file is JSON if its name ends so. */
export function withProviders(
  path: string,
  before: string | undefined,
  providers: readonly Provider[],
  changed: ReadonlySet<string>,
): string {
  const isJson = before === undefined ? extname(path) === '.json' : isJsonText(before);
  if (isJson) {
    const indent = /^[ \t]+(?=")/m.exec(before ?? '')?.[0] ?? '  ';
    return `${JSON.stringify({ providers }, null, indent)}\n`;
  }
  if (before === undefined) return stringify({ providers }, { lineWidth: 0, aliasDuplicateObjects: false });
  const document = parseDocument(before);
  const plain = (value: unknown) => document.createNode(value, { aliasDuplicateObjects: false });
  const list = document.get('providers');
  if (!isSeq(list) || list.items.length === 0) {
    document.set('providers', plain(providers));
  } else {
    for (const provider of providers.filter(({ name }) => changed.has(name))) {
      const entry = list.items.find((item) => isMap(item) && item.get('name') === provider.name);
      if (!isMap(entry)) list.add(plain(provider));
      else {
        for (const [field, value] of Object.entries(provider)) {
          const lists = entry.get(field);
          if (Array.isArray(value) && isSeq(lists)) {
            const known = new Set(lists.items.map((item) => (isScalar(item) ? item.value : item)));
            for (const added of value) if (!known.has(added)) lists.add(plain(added));
          } else if (typeof value !== 'object') {
            if (entry.get(field) !== value) entry.set(field, value);
          } else if (!entry.has(field)) entry.set(field, plain(value));
        }
      }
    }
  }
  // As most of these files are written, or as this one is.
  const indentSeq = !/^- /m.test(before);
  return document.toString({ lineWidth: 0, indentSeq });
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
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
