/** Findings as SARIF 2.1.0, which code hosts show beside the lines of a change. */
import { isAbsolute, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { adviceRules, type Finding } from './finding.ts';

export function toSarif(findings: readonly Finding[], version: string): object {
  const ids = [...new Set(findings.map(({ rule }) => rule))].sort();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'clusterprofile lint',
            semanticVersion: version,
            rules: ids.map((id) => ({ id, shortDescription: { text: descriptionOf(id) } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map(({ file, line, column, severity, rule, path, message }) => ({
          ruleId: rule,
          ruleIndex: ids.indexOf(rule),
          level: severity,
          message: { text: path === '' ? message : `${path}: ${message}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(file) },
                region: { startLine: line, startColumn: column },
              },
            },
          ],
        })),
      },
    ],
  };
}

function descriptionOf(id: string): string {
  const advice: Readonly<Record<string, string>> = adviceRules;
  return advice[id] ?? `The library refuses it (${id}).`;
}

/** Relative paths stay relative: the reader of the report knows the folder. */
function uriOf(file: string): string {
  if (isAbsolute(file)) return pathToFileURL(file).href;
  return file
    .split(sep)
    .filter((part) => part !== '.')
    .map(encodeURIComponent)
    .join('/');
}
