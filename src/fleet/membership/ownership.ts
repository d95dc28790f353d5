/** Which clusters, and objects of the hub, this process works on. By default all of them; sharding gives another answer. */

/** Bounds the time in which this process may work on a cluster. */
export interface Fence {
  /** No request may be submitted any more. Checked for each request when it is written. */
  readonly isOver: boolean;
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
}

/** The fence of a cluster is over, and its owner is unknown. */
export const shardLost = {
  reason: 'SHARD_LOST',
  message: "its shard is not known to be this replica's any more: another one may work on it",
} as const;

export type Owner =
  | {
      readonly mine: true;
      /** Absent if this process owns the cluster for good. */
      readonly fence?: Fence;
    }
  | {
      readonly mine: false;
      /** A stable code. */
      readonly reason: string;
      readonly message: string;
      /** The identity of the owner, if it is known. */
      readonly owner?: string;
    };

/** The owner of these keys may have changed. */
export type OwnersChanged = (affects: (key: string) => boolean) => void;

export interface Ownership {
  /** `key` is `namespace/name`: of a cluster's oldest ClusterProfile, or of an object of the hub. */
  ownerOf(key: string): Owner;
  /** This process begins to work on it. `work` distinguishes works with the same key. */
  enter(key: string, work: object): void;
  /** This work has ended. */
  leave(key: string, work: object): void;
  /** Every cluster that this process can have now is assigned. */
  readonly isSettled: boolean;
  /** How many shards are this process's, and how many replicas live. Absent if the fleet is not shared. */
  readonly owned?: number;
  readonly replicas?: number;
  /**
   * Takes part until the signal aborts; then hands over each cluster when the work on it has ended. Resolves when all are handed over,
   * and never rejects.
   */
  run(changed: OwnersChanged, signal: AbortSignal): Promise<void>;
}

/** One process works on the whole fleet. */
export const ownsEverything: Ownership = {
  ownerOf: () => ({ mine: true }),
  enter: () => {},
  leave: () => {},
  isSettled: true,
  run: async () => {},
};
