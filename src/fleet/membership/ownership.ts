/** Which clusters this process works on. By default all of them; sharding gives another answer. */

/** The time in which this process works on a cluster without a break. */
export interface Term {
  /** No request may leave any more. Asked for each request, at the moment in which it is written. */
  readonly isOver: boolean;
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
}

/** The time in which a cluster may be used is over, and who may use it now is not known. */
export const shardLost = {
  reason: 'SHARD_LOST',
  message: "its shard is not known to be this replica's any more: another one may work on it",
} as const;

/** Whose a cluster is. */
export type Owner =
  | {
      readonly mine: true;
      /** `undefined` where it is for ever. */
      readonly term?: Term;
    }
  | {
      readonly mine: false;
      /** A stable code. */
      readonly reason: string;
      readonly message: string;
      /** The identity of who has it, where it is known. */
      readonly owner?: string;
    };

export interface OwnershipListener {
  /** Clusters of these keys may have another owner. */
  changed(affects: (key: string) => boolean): void;
}

export interface Ownership {
  /** `key` is what `identify` says of a cluster. */
  ownerOf(key: string): Owner;
  /** This process begins to work on a cluster. */
  enter(key: string): void;
  /** It does nothing with it any more. */
  leave(key: string): void;
  /** It has what it can have now. */
  readonly isSettled: boolean;
  /**
   * Takes part until the signal aborts; then gives everything away that nothing works on, and resolves when all of it is given
   * away. Rejects with a `FleetError` where it cannot take part.
   */
  run(listener: OwnershipListener, signal: AbortSignal): Promise<void>;
}

/** One process works on the whole fleet. */
export const ownsEverything: Ownership = {
  ownerOf: () => ({ mine: true }),
  enter: () => {},
  leave: () => {},
  isSettled: true,
  run: async () => {},
};
