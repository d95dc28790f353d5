/** A finding of lint: a problem that the library would refuse, or advice. */
import type { Place } from '../../access/yaml-text.ts';
import type { ErrorCode, Problem } from '../../errors/index.ts';

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

/** A description of each advice, in one sentence. */
export const adviceRules = {
  NO_ALLOWED_SERVERS:
    'A plugin that gets no cluster information gives one credential for every server that a profile names.',
  ARGS_WITHOUT_RULES: 'Profiles may add any argument to the command of a plugin.',
  ENV_VARS_WITHOUT_RULES: 'Profiles may replace the variables of a plugin.',
  INSECURE_TLS_ALLOWED: 'Profiles may switch TLS verification off.',
  COMMAND_RELATIVE: 'A relative path depends on the working directory.',
  VERSION_OUTDATED: 'client.authentication.k8s.io/v1alpha1 is refused by client-go.',
  SECRET_IN_PROVIDER: 'A secret in a provider file is seen by everyone who reads the file.',
  PLUGIN_NOT_IN_ALLOWLIST: 'A plugin that is not in the allowlist is never run.',
  NOT_HARDENED: 'A controller without --clusterprofile-hardened.',
  PROVIDER_FILE_KEY_MISSING: 'The provider file of a controller is not in the ConfigMap that is mounted.',
  NAME_INVALID: 'Kubernetes refuses the name of a ClusterProfile or of its namespace.',
  NOTHING_APPLIES: 'A part of a ClusterProfile is not applied.',
  FIELD_DEPRECATED: 'status.credentialProviders is the earlier name of accessProviders.',
  NO_PROVIDER: 'No provider that is known here serves the ClusterProfile.',
  DOCUMENT_NOT_READ: 'Of the documents of a provider file only the first is read.',
  YAML_INVALID: 'The document is neither JSON nor YAML.',
  NOTHING_TO_LINT: 'Nothing that lint knows.',
} as const;
export type AdviceRule = keyof typeof adviceRules;

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

/** `file:line:column: error: path: message (RULE)`, as compilers have it, so that editors find the place. */
export function lineOfFinding({ file, line, column, severity, rule, path, message }: Finding): string {
  return `${file}:${line}:${column}: ${severity}: ${path === '' ? '' : `${path}: `}${message} (${rule})`;
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
