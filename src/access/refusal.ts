/** What happens to a field of a profile or a kubeconfig that is not applied: it is an error, or it is listed. */
import type { ProfileErrorCode } from '../errors.ts';

/** Throws the error for something in the profile that cannot be used. */
export type Refuse = (code: ProfileErrorCode, path: string, message: string) => never;

/** Something that the profile asked for and did not get. */
export interface Ignored {
  /** Field of the ClusterProfile. */
  readonly path: string;
  readonly reason: string;
}
