/** A provider file, or the text of one that stands in a ConfigMap. Pure. */
import { fieldPath } from '../../access/field-path.ts';
import type { ConfiguredProvider } from '../../access/provider.ts';
import { parseProviderFile } from '../../access/provider-file.ts';
import { type Place, readYaml } from '../../access/yaml-text.ts';
import { ConfigurationError } from '../../errors/index.ts';
import { type Advice, adviceFor } from './advice.ts';
import { type Finding, toFindings } from './finding.ts';

/** A provider that the library accepts, and its place. */
export interface KnownProvider {
  readonly provider: ConfiguredProvider;
  readonly file: string;
  /** How a field of it is called there: `providers[0].execConfig.command`. */
  pathOf(field: Advice['field']): string;
  /** Where a field of it stands, or the provider itself. */
  placeOf(field: Advice['field']): Place;
}

export interface LintedProviders {
  readonly findings: readonly Finding[];
  /** None where the file is refused. */
  readonly providers: readonly KnownProvider[];
}

/** `toFile` turns a place in the text into one in the file. */
export function lintProviders(
  text: string,
  file: string,
  toFile: (place: Place) => Place = (place) => place,
): LintedProviders {
  try {
    const configured = parseProviderFile(text, file);
    const { placeOf } = readYaml(text, (problems) => new ConfigurationError('PROVIDER_FILE_INVALID', file, problems));
    const providers = configured.map((provider, index) => ({
      provider,
      file,
      pathOf: (field: Advice['field']) => fieldPath(['providers', index, ...field]),
      placeOf: (field: Advice['field']) => toFile(placeOf(['providers', index, ...field])),
    }));
    return { providers, findings: providers.flatMap(adviceOf) };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const place = ({ line = 1, column = 1 }) => toFile({ line, column });
    return { providers: [], findings: toFindings(error.problems, error.code, file, place) };
  }
}

/** The findings about a provider that the library accepts. */
export function adviceOf({ provider, file, pathOf, placeOf }: KnownProvider): readonly Finding[] {
  return adviceFor(provider).map(({ rule, severity, field, message }) => ({
    file,
    ...placeOf(field),
    severity,
    rule,
    path: pathOf(field),
    message,
  }));
}
