import { isNode, LineCounter, parseDocument } from 'yaml';
import { ConfigurationError, type Problem } from '../errors.ts';
import { type ConfiguredProvider, parseProviders } from './provider.ts';

/**
 * Reads the text of a provider file, JSON or YAML.
 * `path` only names the file in errors. Throws one `ConfigurationError` with every problem, its line and its path.
 */
export function parseProviderFile(text: string, path: string): readonly ConfiguredProvider[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw invalid(
      path,
      // A parser's own message can quote the file, so only its kind and place are told.
      document.errors.map(({ code, pos }) => ({
        path: '',
        line: lines.linePos(pos[0]).line,
        message: code === 'DUPLICATE_KEY' ? 'the same key stands here a second time' : notYaml(code),
      })),
    );
  }
  const content = toContent(() => document.toJS(), path);
  if (content === null || content === undefined) {
    throw invalid(path, [{ path: '', message: 'is empty: it must hold the field providers' }]);
  }
  const parsed = parseProviders(content);
  if ('providers' in parsed) return parsed.providers;
  throw invalid(
    path,
    parsed.problems.map(({ path: field, keys, message }) => ({ path: field, line: lineOf(keys), message })),
  );

  /** The line of a field, or of the innermost thing around it that is there. */
  function lineOf(keys: readonly PropertyKey[]): number {
    for (let depth = keys.length; depth > 0; depth--) {
      const node = document.getIn(keys.slice(0, depth), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
    }
    return 1;
  }
}

function notYaml(code: string): string {
  return `is neither JSON nor YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

function toContent(read: () => unknown, path: string): unknown {
  try {
    return read();
  } catch {
    throw invalid(path, [{ path: '', message: 'holds an alias that cannot be resolved, or too many of them' }]);
  }
}

function invalid(path: string, problems: readonly Problem[]): ConfigurationError {
  return new ConfigurationError('PROVIDER_FILE_INVALID', `provider file ${path}`, problems);
}
