/** The error that a verb throws if it cannot proceed. */
import { codeFieldOf } from '../util/errno.ts';
import type { ExitCode } from './exit-codes.ts';

/** Shown as `error: message` and a line of advice; no stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;
  /** What to do next. */
  readonly hint: string | undefined;
  /** Of the library's error that it is made from: `error [PLUGIN_TIMEOUT]: message`. */
  readonly code: string | undefined;

  constructor(exitCode: ExitCode, message: string, hint?: string, options: ErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.hint = hint;
    this.code = codeFieldOf(this.cause).code;
  }
}
