import { printable } from '../util/printable.ts';
import type { ProfileErrorCode } from './codes.ts';
import { CredentialsError, maxFieldBytes } from './credentials-error.ts';

/** A ClusterProfile cannot be served with the configured providers. */
export class ProfileError extends CredentialsError {
  declare readonly name: 'ProfileError';
  declare readonly code: ProfileErrorCode;
  declare readonly profile: string;
  /** The field of the ClusterProfile, for example `status.accessProviders[0].cluster.server`. */
  readonly path: string;
  /** The access type, if one was chosen. */
  readonly provider: string | undefined;

  constructor(code: ProfileErrorCode, profile: string, path: string, message: string, provider?: string) {
    super('ProfileError', code, `ClusterProfile ${profile}: ${path === '' ? '' : `${path}: `}${message}`, {
      cluster: { profile: printable(profile, maxFieldBytes) },
    });
    this.path = printable(path, maxFieldBytes);
    this.provider = provider;
  }
}
