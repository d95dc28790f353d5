import { type DocumentOptions, isNode, LineCounter, type ParseOptions, parseDocument, type SchemaOptions } from 'yaml';
import type { ConfigurationError, Problem } from '../errors.ts';

/** What a file of JSON or YAML holds, and where. */
export interface YamlText {
  readonly content: unknown;
  /** Keys that stand twice. The last one is in `content`, so that everything else can be checked too. */
  readonly problems: readonly Problem[];
  /** The line of a field, counted from 1, or of the innermost thing around it that is there. */
  lineOf(keys: readonly PropertyKey[]): number;
}

/**
 * Reads JSON or YAML. Throws what `invalid` makes of the problems where the text cannot be read at all; none of them quotes
 * the text.
 */
export function readYaml(
  text: string,
  invalid: (problems: readonly Problem[]) => ConfigurationError,
  options: ParseOptions & DocumentOptions & SchemaOptions = {},
): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...options, lineCounter: lines, prettyErrors: false, logLevel: 'silent' });
  // Kubernetes reads the first of several documents.
  const errors = document.errors.filter(({ code }) => code !== 'MULTIPLE_DOCS' || options !== kubernetesYaml);
  // A parser's own message can quote the file, so only its kind and place are told.
  const problems = errors.map(({ code, pos }) => ({
    path: '',
    line: lines.linePos(pos[0]).line,
    message: code === 'DUPLICATE_KEY' ? 'the same key stands here a second time' : notYaml(code),
  }));
  if (errors.some(({ code }) => code !== 'DUPLICATE_KEY')) throw invalid(problems);
  return { content: toContent(() => document.toJS(), invalid), problems, lineOf };

  function lineOf(keys: readonly PropertyKey[]): number {
    for (let depth = keys.length; depth > 0; depth--) {
      const node = document.getIn(keys.slice(0, depth), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  }
}

/** As Kubernetes reads YAML, but for times and numbers of base 60, which it does not know. */
export const kubernetesYaml = {
  version: '1.1',
  customTags: (tags: unknown[]) =>
    tags.filter(
      (tag) =>
        !(
          typeof tag === 'object' &&
          tag !== null &&
          (Reflect.get(tag, 'format') === 'TIME' || Reflect.get(tag, 'tag') === 'tag:yaml.org,2002:timestamp')
        ),
    ),
} as const as { version: '1.1' }; // the library's type for tags is wider than what it hands over

function notYaml(code: string): string {
  return `is neither JSON nor YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

function toContent(read: () => unknown, invalid: (problems: readonly Problem[]) => ConfigurationError): unknown {
  try {
    return read();
  } catch {
    throw invalid([{ path: '', message: 'holds an alias that cannot be resolved, or too many of them' }]);
  }
}
