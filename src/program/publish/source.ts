/** What the sources of `publish` give: clusters, how a controller reaches each, and the names of their ClusterProfiles. */

import { hash } from 'node:crypto';
import type { KubeconfigAccess, ResolvedCluster, ResolvedExec } from '../../diagnose/index.ts';
import { templateOf } from '../input.ts';

/** The user of a kubeconfig with a credential of its own, in a kubeconfig's names. */
export type StaticUserFields = Readonly<Record<string, string>>;

/** How a controller gets the credential of a cluster. */
export type SourceUser =
  | { readonly kind: 'exec'; readonly exec: ResolvedExec }
  /** Never into a profile: into a Secret, with `--write-secrets`. `read` reads its files, and throws an `Error` that says why not. */
  | { readonly kind: 'static'; readonly what: string; readonly read: () => StaticUserFields }
  /** A kubeconfig in a Secret that is there already, in the namespace of the profile. */
  | { readonly kind: 'secret'; readonly secret: string; readonly key: string };

/** Of the ClusterProfile of a cluster. */
export interface ProfileName {
  readonly namespace: string;
  readonly name: string;
}

export const fullName = ({ namespace, name }: ProfileName) => `${namespace}/${name}`;

/** A cluster to publish. */
export interface SourceCluster extends ProfileName {
  /** For messages: `context prod-eu`. */
  readonly origin: string;
  readonly displayName: string;
  readonly cluster: ResolvedCluster;
  readonly user: SourceUser;
  /** The source's own rights. */
  readonly access: KubeconfigAccess;
}

/** A cluster that cannot be published. Its profile, if there is one, is left as it is. */
export interface Refused extends ProfileName {
  readonly origin: string;
  readonly message: string;
}

/** What a source has. */
export interface SourceContent {
  readonly clusters: readonly SourceCluster[];
  readonly refused: readonly Refused[];
  /** `namespace/name` of the profiles of clusters that the call does not ask for. */
  readonly leftOut: readonly string[];
  /** For stderr, said once. */
  readonly notes: readonly string[];
}

/** The longest name: it may become a label's value. */
const maxNameLength = 63;
const hashLength = 6;

/**
 * Gives the names of profiles, by a pattern such as `{context}`. What Kubernetes refuses is replaced, and the beginning of a hash is added: the
 * name depends on nothing but its own values. Throws a `Failure` for a pattern that names something else.
 */
export function profileNamer<Key extends string>(
  pattern: string,
  keys: readonly Key[],
): (values: Readonly<Record<Key, string>>) => string {
  const fill = templateOf('--name-pattern', pattern, keys);
  return (values) => {
    const wanted = fill(values);
    const clean = wanted
      .toLowerCase()
      .replace(/[^a-z0-9.]+/g, '-')
      .replace(/\.+/g, '.');
    const trimmed = clean.replace(/-*\.-*/g, '.').replace(/^[-.]+|[-.]+$/g, '');
    if (trimmed === wanted && wanted.length <= maxNameLength) return wanted;
    const digest = hash('sha256', wanted, 'hex').slice(0, hashLength);
    const kept = trimmed.slice(0, maxNameLength - hashLength - 1).replace(/[-.]+$/, '');
    return kept === '' ? `cluster-${digest}` : `${kept}-${digest}`;
  };
}
