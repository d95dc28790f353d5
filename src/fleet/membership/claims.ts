/** Lets one lifecycle at a time have a cluster: several profiles may be of the same one. */
import type { ClusterLifecycle } from './cluster-lifecycle.ts';

export class Claims {
  /** By the result of `identify`. */
  readonly #holders = new Map<string, ClusterLifecycle>();
  readonly #waiting = new Map<string, Set<ClusterLifecycle>>();

  /** Claims the cluster. If that fails, the lifecycle is poked when the cluster is free. */
  claim(key: string, lifecycle: ClusterLifecycle): boolean {
    const holder = this.#holders.get(key);
    if (!holder || holder === lifecycle) {
      this.#holders.set(key, lifecycle);
      return true;
    }
    this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(lifecycle));
    return false;
  }

  /** Returns whether it had the cluster. */
  release(key: string, lifecycle: ClusterLifecycle): boolean {
    if (this.#holders.get(key) !== lifecycle) return false;
    this.#holders.delete(key);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const other of waiting) other.wake();
    return true;
  }
}
