/** What a verb ends with where it cannot do what it was asked for. */
import { type ExitCode, exitCodes } from './exit-codes.ts';

/** Shown as `error: message` and a line of advice; no stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;
  /** What to do next. */
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, message: string, hint?: string, options: ErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** Those that end the program. */
export const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** Why a call's signal aborts. */
export class Interrupted extends Failure {
  readonly signal: (typeof signals)[number];

  constructor(signal: (typeof signals)[number]) {
    super(exitCodes.interrupted, 'interrupted');
    this.signal = signal;
  }
}
