/** The stable code and the message of a failure. Pure. */

import { ApiError, CredentialsError } from '../../errors/index.ts';
import { reasonOf } from '../../observability/callbacks.ts';

/** The stages of an engagement. */
export type Stage = 'RESOLVE' | 'CREDENTIAL' | 'REQUEST' | 'HANDLERS';

export interface Failure {
  /** The stage and the error's code: `CREDENTIAL/PLUGIN_NOT_FOUND`, `REQUEST/STATUS_401`, `HANDLERS/HANDLER_FAILED`. */
  readonly reason: string;
  readonly message: string;
}

export function failureOf(stage: Stage, error: unknown): Failure {
  return { reason: `${stage}/${codeOf(stage, error)}`, message: reasonOf(error) };
}

function codeOf(stage: Stage, error: unknown): string {
  if (error instanceof ApiError && error.statusCode !== undefined) return `STATUS_${error.statusCode}`;
  if (error instanceof CredentialsError) return error.code;
  if (stage === 'HANDLERS') return 'HANDLER_FAILED';
  // A code of Node may be in a cause.
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof CredentialsError || ('code' in cause && typeof cause.code === 'string'))
      return String(Reflect.get(cause, 'code'));
  }
  return 'ERROR';
}
