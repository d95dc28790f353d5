/** The cluster that an error belongs to. */
export interface ClusterOfError {
  /** Opens the message: `ClusterProfile fleet/spoke-1`, or `kubeconfig context staging`. */
  readonly name: string;
  /** `namespace/name` of the ClusterProfile, if any. */
  readonly profile?: string | undefined;
  readonly server: string;
}

/** Opens the message of an error that belongs to a cluster. */
export const openingOf = (cluster: ClusterOfError | undefined): string =>
  cluster ? `${cluster.name}, ${cluster.server}: ` : '';
