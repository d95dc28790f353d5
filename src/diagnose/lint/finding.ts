/** A finding of lint: a problem that the library would refuse, or advice. */
import type { Place } from '../../access/yaml-text.ts';
import { ConfigurationError, type ErrorCode, type Problem } from '../../errors/index.ts';
import { printable } from '../../util/printable.ts';

/** The worst first. */
export const severities = ['error', 'warning', 'note'] as const;
/** `error`: it does not work. `warning`: it works, and is a risk. `note`: it could be better. */
export type Severity = (typeof severities)[number];

export interface Finding extends Place {
  readonly file: string;
  readonly severity: Severity;
  /** The library's own error code, or the name of an advice. */
  readonly rule: ErrorCode | AdviceRule;
  /** The field, or the flag. */
  readonly path: string;
  readonly message: string;
}

/** Names of advice: what the library accepts, and is a risk or a mistake all the same. */
export type AdviceRule =
  | 'NO_ALLOWED_SERVERS'
  | 'ARGS_WITHOUT_RULES'
  | 'ENV_VARS_WITHOUT_RULES'
  | 'INSECURE_TLS_ALLOWED'
  | 'COMMAND_RELATIVE'
  | 'VERSION_OUTDATED'
  | 'SECRET_IN_PROVIDER'
  | 'NOT_HARDENED'
  | 'NAME_INVALID'
  | 'NOTHING_APPLIES'
  | 'FIELD_DEPRECATED'
  | 'NO_PROVIDER'
  | 'DOCUMENT_NOT_READ'
  | 'YAML_INVALID'
  | 'NOTHING_TO_LINT';

/** Turns the problems of one of the library's errors into findings. */
export function toFindings(
  problems: readonly Problem[],
  rule: Finding['rule'],
  file: string,
  place: (problem: Problem) => Place = ({ line = 1, column = 1 }) => ({ line, column }),
): readonly Finding[] {
  return problems.map((problem) => ({
    file,
    ...place(problem),
    severity: 'error',
    rule,
    path: problem.path,
    message: problem.message,
  }));
}

/** The findings of an error of the configuration. Throws any other. */
export function findingsOf(error: unknown, file: string, place: (problem: Problem) => Place): readonly Finding[] {
  if (!(error instanceof ConfigurationError)) throw error;
  return toFindings(error.problems, error.code, file, place);
}

/** Bytes of a line: a file may be anybody's. */
const longestLine = 8_192;

/** `file:line:column: error: path: message (RULE)`, as compilers have it, so that editors find the place. */
export function lineOfFinding({ file, line, column, severity, rule, path, message }: Finding): string {
  const text = `${file}:${line}:${column}: ${severity}: ${path === '' ? '' : `${path}: `}${message} (${rule})`;
  return printable(text, longestLine);
}

/** In the order of the files, then of their lines, without duplicates. */
export function inOrder(findings: readonly Finding[], files: readonly string[]): readonly Finding[] {
  const once = new Map(findings.map((finding) => [JSON.stringify(finding), finding]));
  const order = new Map(files.map((file, index) => [file, index]));
  const indexOf = ({ file }: Finding) => order.get(file) ?? files.length;
  return [...once.values()].sort(
    (a, b) => indexOf(a) - indexOf(b) || a.line - b.line || a.column - b.column || compare(a.rule, b.rule),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
