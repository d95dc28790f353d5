import type { ExecInfoErrorCode } from './codes.ts';
import { CredentialsError } from './credentials-error.ts';

/** The environment of a plugin has no usable `KUBERNETES_EXEC_INFO`. */
export class ExecInfoError extends CredentialsError {
  declare readonly name: 'ExecInfoError';
  declare readonly code: ExecInfoErrorCode;

  constructor(code: ExecInfoErrorCode, message: string) {
    super('ExecInfoError', code, message);
  }
}
