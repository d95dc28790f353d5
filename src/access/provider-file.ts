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
  const cutOff = isCutOff(text) ? [{ path: '', message: cutOffMessage }] : [];
  if ('providers' in parsed && twice.length + cutOff.length === 0) return parsed.providers;
  throw invalid([...twice, ...problems, ...cutOff]);
}

const cutOffMessage =
  'does not end with a line break, as if it had been cut off: write it whole, and rename it into place';

/**
 * A truncated YAML file, as a full disk leaves it, is still valid YAML, without some rules. It rarely ends with a line break.
 * Truncated JSON is invalid.
 */
function isCutOff(text: string): boolean {
  return text.trim() !== '' && !text.endsWith('\n') && !/^\s*[{[]/.test(text);
}
