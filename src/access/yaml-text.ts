import { type Document, isNode, isScalar, LineCounter, parseAllDocuments, parseDocument, type Tags } from 'yaml';
import type { z } from 'zod';
import type { Problem } from '../errors/index.ts';
import { type KnownKeys, schemaProblems } from './schema-problems.ts';

/** The content of a JSON or YAML file, and the places of its fields. */
export interface YamlText {
  readonly content: unknown;
  /** Duplicate keys. `content` has the last value, so that the rest can be checked too. */
  readonly problems: readonly Problem[];
  /** The place of a field, or of its innermost existing parent. */
  placeOf(keys: readonly PropertyKey[]): Place;
}

/** A place in a text, each counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Why a text cannot be read. No problem quotes it. */
export type NoYaml = Pick<YamlText, 'problems'>;

export function parseYaml(text: string, dialect?: typeof kubernetesYaml): YamlText | NoYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...dialect, lineCounter: lines, prettyErrors: false, logLevel: 'silent' });
  // Kubernetes reads the first of several documents.
  return readDocument(document, lines, dialect !== undefined);
}

/**
 * Reads JSON or YAML, and checks it; the problems of both have their places. `content` is as it was written, or `undefined` if it is
 * neither, `data` as the schema reads it, or `undefined` if it refuses it.
 */
export function checkYaml<T extends z.ZodType>(
  text: string,
  schema: T,
  { known, dialect }: { readonly known?: KnownKeys; readonly dialect?: typeof kubernetesYaml } = {},
) {
  const yaml = parseYaml(text, dialect);
  if (!('content' in yaml))
    return { ...yaml, content: undefined, data: undefined, placeOf: () => ({ line: 1, column: 1 }) };
  const { content, placeOf } = yaml;
  const parsed = schema.safeParse(content);
  const found = schemaProblems(parsed.error, { known }).map(({ path, keys, message }) => ({
    path,
    ...placeOf(keys),
    message,
  }));
  return { content, data: parsed.data, problems: [...yaml.problems, ...found], placeOf };
}

/** Each document of a text as Kubernetes reads it, or why it cannot be read. Empty documents are left out. */
export function readManifests(text: string): readonly (YamlText | NoYaml)[] {
  const lines = new LineCounter();
  const options = { ...kubernetesYaml, lineCounter: lines, prettyErrors: false, logLevel: 'silent' } as const;
  return [...parseAllDocuments(text, options)].flatMap((document) => {
    const { contents, errors } = document;
    const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
    return isEmpty && errors.length === 0 ? [] : [readDocument(document, lines, true)];
  });
}

function readDocument(document: Document.Parsed, lines: LineCounter, isFirstOfSeveral: boolean): YamlText | NoYaml {
  const errors = document.errors.filter(({ code }) => code !== 'MULTIPLE_DOCS' || !isFirstOfSeveral);
  // A parser's own message can quote the file, so only its kind and place are shown.
  const problems = errors.map(({ code, pos }) => ({
    path: '',
    ...placeAt(pos[0]),
    message: code === 'DUPLICATE_KEY' ? 'the same key is given twice' : notYaml(code),
  }));
  if (errors.some(({ code }) => code !== 'DUPLICATE_KEY')) return { problems };
  try {
    return { content: document.toJS(), problems, placeOf };
  } catch {
    const message = 'holds an alias or a merge (<<) that cannot be resolved, or too many of them: write the values out';
    return { problems: [{ path: '', message }] };
  }

  function placeOf(keys: readonly PropertyKey[]): Place {
    for (let depth = keys.length; depth >= 0; depth--) {
      const node = depth === 0 ? document.contents : document.getIn(keys.slice(0, depth), true);
      if (isNode(node) && node.range) return placeAt(node.range[0]);
    }
    return { line: 1, column: 1 };
  }

  function placeAt(offset: number): Place {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  }
}

/** YAML as Kubernetes reads it, except for times and numbers of base 60, which it does not support. */
export const kubernetesYaml = { version: '1.1', customTags: kubernetesTags } as const;

/** Of those of YAML 1.1. */
export function kubernetesTags(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag !== 'object') return true;
    return tag.tag !== 'tag:yaml.org,2002:timestamp' && !('format' in tag && tag.format === 'TIME');
  });
}

function notYaml(code: string): string {
  return `is neither JSON nor YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}
