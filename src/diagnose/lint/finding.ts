/** A finding of lint: a problem that the library would refuse, or advice. */
import type { ConfiguredProvider } from '../../access/provider-schema.ts';
import type { Place, YamlText } from '../../access/yaml-text.ts';
import type { ErrorCode, Problem } from '../../errors/index.ts';
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

/** What a call of lint has found so far. */
export interface Linted {
  readonly findings: Finding[];
  /** Those that profiles are checked with. */
  readonly providers: ConfiguredProvider[];
}

/** A manifest of Kubernetes. `placeOf` takes the keys of its fields. */
export interface Manifest extends Pick<YamlText, 'content' | 'placeOf'> {
  readonly kind: string;
  readonly file: string;
}

/** Reports what is found in one part of a file. `path` is a field of that part, or a flag. */
export type Say = (severity: Severity, rule: Finding['rule'], path: string, message: string) => void;

/** `find` says where a path of that part stands in the file, and how it is called there. */
export function sayTo({ findings }: Linted, file: string, find: (path: string) => Place & Pick<Finding, 'path'>): Say {
  return (severity, rule, given, message) => {
    const { line, column, path } = find(given);
    findings.push({ file, line, column, severity, rule, path, message });
  };
}

/** Problems that have their own lines, if `place` is not that of all of them. */
export function toFindings(
  problems: readonly Problem[],
  rule: Finding['rule'],
  file: string,
  place?: Place,
): readonly Finding[] {
  return problems.map(({ path, message, line = 1, column = 1 }) => {
    return { file, ...(place ?? { line, column }), severity: 'error', rule, path, message };
  });
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
  return [...once.values()].sort((a, b) => indexOf(a) - indexOf(b) || a.line - b.line || a.column - b.column);
}
