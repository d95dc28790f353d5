/** Which of the clusters are this process's to work on. Sharding puts another answer in this place. */

/** Whose a cluster is. */
export interface Owner {
  readonly mine: boolean;
  /** The identity of who has it, where it is somebody else. */
  readonly owner?: string;
}

export interface Ownership {
  /** `key` is what `identify` says of a cluster. */
  ownerOf(key: string): Owner;
  /** Tells when answers may have changed. Returns what ends it. */
  onChange(changed: () => void): () => void;
}

/** One process works on the whole fleet. */
export const ownsEverything: Ownership = {
  ownerOf: () => ({ mine: true }),
  onChange: () => () => {},
};
