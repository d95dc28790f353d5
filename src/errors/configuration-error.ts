import type { ConfigurationErrorCode } from './codes.ts';
import { CredentialsError } from './credentials-error.ts';

/** One problem in the operator's configuration. */
export interface Problem {
  /** A field path (`providers[1].execConfig.command`), or the flag as it was given. */
  readonly path: string;
  /** What is wrong and what to write instead. */
  readonly message: string;
  /** The file, where several were read together. */
  readonly file?: string;
  /** Line in the file, counted from 1. */
  readonly line?: number;
  /** Column in that line, counted from 1. */
  readonly column?: number;
}

/** The configuration cannot be used. Reports every problem, not only the first. */
export class ConfigurationError extends CredentialsError {
  declare readonly name: 'ConfigurationError';
  declare readonly code: ConfigurationErrorCode;
  readonly problems: readonly Problem[];

  /** `where` opens the message: a file's path, or what was being read. */
  constructor(code: ConfigurationErrorCode, where: string, problems: readonly Problem[]) {
    const lines = problems.map(({ path, file, line, message }) => {
      const at = `${file === undefined ? '' : `${file}: `}${line === undefined ? '' : `line ${line}: `}`;
      return `${at}${path === '' ? '' : `${path}: `}${message}`;
    });
    const isOne = lines.length === 1;
    super('ConfigurationError', code, `${where}: ${isOne ? lines[0] : `${lines.length} problems:`}`, {
      moreLines: isOne ? [] : lines.map((line) => `  ${line}`),
    });
    this.problems = problems;
  }
}
