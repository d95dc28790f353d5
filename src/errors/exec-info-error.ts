import type { ExecInfoErrorCode } from './codes.ts';
import { CredentialsError, setClassName } from './credentials-error.ts';

/** The environment of a plugin has no usable `KUBERNETES_EXEC_INFO`. */
export class ExecInfoError extends CredentialsError {
  static {
    setClassName(this, 'ExecInfoError');
  }

  override readonly name = 'ExecInfoError';
  declare readonly code: ExecInfoErrorCode;

  constructor(code: ExecInfoErrorCode, message: string) {
    super(code, message);
  }
}
