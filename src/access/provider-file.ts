import { ConfigurationError, type Problem } from '../errors/index.ts';
import type { ConfiguredProvider } from './provider.ts';
import { parseProviders } from './provider-schema.ts';
import { readYaml } from './yaml-text.ts';

/**
 * Reads the text of a provider file, JSON or YAML.
 * @param path - names the file in errors
 * @throws {ConfigurationError} with every problem, its line and its path
 */
export function parseProviderFile(text: string, path: string): readonly ConfiguredProvider[] {
  const invalid = (problems: readonly Problem[]) =>
    new ConfigurationError('PROVIDER_FILE_INVALID', `provider file ${path}`, problems);
  const { content, problems: twice, placeOf } = readYaml(text, invalid);
  if (content === null || content === undefined) {
    throw invalid([{ path: '', message: 'is empty: it must hold the field providers' }]);
  }
  const parsed = parseProviders(content);
  const problems =
    'providers' in parsed
      ? []
      : parsed.problems.map(({ path: field, keys, message }) => ({ path: field, ...placeOf(keys), message }));
  if ('providers' in parsed && twice.length === 0) return parsed.providers;
  throw invalid([...twice, ...problems]);
}
