/** How a field of a profile or kubeconfig that is not applied is reported: as an error, or in a list. */
import type { ProfileErrorCode } from '../errors/index.ts';

/** Throws the error for a field of the profile that cannot be used. */
export type Refuse = (code: ProfileErrorCode, path: string, message: string) => never;

/** A setting of the profile that was not applied. */
export interface Ignored {
  /** The field of the ClusterProfile. */
  readonly path: string;
  readonly reason: string;
}
