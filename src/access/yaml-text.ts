/** JSON and YAML: the content of a file with the places of its fields, and plain JSON values. */
import { type Document, isNode, isScalar, LineCounter, parseAllDocuments, parseDocument, type Tags } from 'yaml';
import type { ConfigurationError, Problem } from '../errors/index.ts';

/** The content of a JSON or YAML file, and the places of its fields. */
export interface YamlText {
  readonly content: unknown;
  /** Duplicate keys. `content` has the last value, so that the rest can be checked too. */
  readonly problems: readonly Problem[];
  /** The place of a field, or of its innermost existing parent. */
  placeOf(keys: readonly PropertyKey[]): Place;
  /** The indentation of a field's text that is written as a block (`|`), whose lines begin below `placeOf`. */
  blockIndentOf(keys: readonly PropertyKey[]): number | undefined;
}

/** A place in a text, each counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Why a text cannot be read. No problem quotes it. */
interface NoYaml {
  readonly problems: readonly Problem[];
}

/** Reads JSON or YAML. */
export function parseYaml(text: string, dialect?: typeof kubernetesYaml): YamlText | NoYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...dialect, lineCounter: lines, prettyErrors: false, logLevel: 'silent' });
  // Kubernetes reads the first of several documents.
  return readDocument(text, document, lines, dialect !== undefined);
}

/** Reads JSON or YAML. Throws the error that `invalid` makes of the problems if the text cannot be parsed. */
export function readYaml(
  text: string,
  invalid: (problems: readonly Problem[]) => ConfigurationError,
  dialect?: typeof kubernetesYaml,
): YamlText {
  const read = parseYaml(text, dialect);
  if ('content' in read) return read;
  throw invalid(read.problems);
}

/** Each document of a text as Kubernetes reads it, or why it cannot be read. Empty documents are left out. */
export function readManifests(text: string): readonly (YamlText | NoYaml)[] {
  const lines = new LineCounter();
  const options = { ...kubernetesYaml, lineCounter: lines, prettyErrors: false, logLevel: 'silent' } as const;
  return [...parseAllDocuments(text, options)].flatMap((document) => {
    const { contents, errors } = document;
    const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
    return isEmpty && errors.length === 0 ? [] : [readDocument(text, document, lines, true)];
  });
}

function readDocument(
  text: string,
  document: Document.Parsed,
  lines: LineCounter,
  isFirstOfSeveral: boolean,
): YamlText | NoYaml {
  const errors = document.errors.filter(({ code }) => code !== 'MULTIPLE_DOCS' || !isFirstOfSeveral);
  // A parser's own message can quote the file, so only its kind and place are shown.
  const problems = errors.map(({ code, pos }) => ({
    path: '',
    ...placeAt(pos[0]),
    message: code === 'DUPLICATE_KEY' ? 'the same key is given twice' : notYaml(code),
  }));
  if (errors.some(({ code }) => code !== 'DUPLICATE_KEY')) return { problems };
  try {
    return { content: document.toJS(), problems, placeOf, blockIndentOf };
  } catch {
    return { problems: [{ path: '', message: 'holds an alias that cannot be resolved, or too many of them' }] };
  }

  function placeOf(keys: readonly PropertyKey[]): Place {
    for (let depth = keys.length; depth >= 0; depth--) {
      const node = depth === 0 ? document.contents : document.getIn(keys.slice(0, depth), true);
      if (isNode(node) && node.range) return placeAt(node.range[0]);
    }
    return { line: 1, column: 1 };
  }

  function blockIndentOf(keys: readonly PropertyKey[]): number | undefined {
    const node = document.getIn(keys, true);
    if (!isScalar(node) || node.type !== 'BLOCK_LITERAL' || !node.range) return undefined;
    const [, ...body] = text.slice(node.range[0], node.range[1]).split('\n');
    const indents = body.filter((line) => line.trim() !== '').map((line) => line.search(/[^ ]/));
    return indents.length === 0 ? undefined : Math.min(...indents);
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

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** No real configuration nests deeper, and a deeper one could exhaust the stack. */
const maxDepth = 256;

/**
 * Copies a JSON value, so that later changes to the original cannot reach the copy.
 * `refuse(path, reason)` is called for the first thing that JSON cannot hold, and must throw. A number beyond 2^53 is
 * refused as well: it lost digits when it was parsed, and the plugin would get another number than was written.
 */
export function copyJson(
  value: unknown,
  path: string,
  refuse: (path: string, reason: string) => never,
  depth = 0,
): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return refuse(path, 'is not a number that JSON can hold');
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      return refuse(path, 'is an integer beyond 2^53, which has already lost digits: write it as a string');
    }
    return value;
  }
  if (typeof value !== 'object') return refuse(path, `is not JSON but a ${typeof value}`);
  if (depth >= maxDepth) return refuse(path, `is nested deeper than ${maxDepth} levels`);
  if (Array.isArray(value)) return value.map((item, index) => copyJson(item, `${path}[${index}]`, refuse, depth + 1));
  // fromEntries defines properties, so that the key __proto__ stays plain data.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, copyJson(item, `${path}.${key}`, refuse, depth + 1)]),
  );
}
