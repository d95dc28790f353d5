import { printable } from '../printable.ts';
import type { ProfileErrorCode } from './codes.ts';
import { CredentialsError, maxFieldBytes, setClassName } from './credentials-error.ts';

/** A ClusterProfile cannot be served with the configured providers. */
export class ProfileError extends CredentialsError {
  static {
    setClassName(this, 'ProfileError');
  }

  override readonly name = 'ProfileError';
  readonly code: ProfileErrorCode;
  /** `namespace/name` of the ClusterProfile. */
  readonly profile: string;
  /** Field of the ClusterProfile, for example `status.accessProviders[0].cluster.server`. */
  readonly path: string;
  /** The access type that was chosen, where it came to that. */
  readonly provider: string | undefined;

  constructor(code: ProfileErrorCode, profile: string, path: string, message: string, provider?: string) {
    super(`ClusterProfile ${profile}: ${path === '' ? '' : `${path}: `}${message}`);
    this.code = code;
    this.profile = printable(profile, maxFieldBytes);
    this.path = printable(path, maxFieldBytes);
    this.provider = provider;
  }
}
