/** Who has a cluster: of the members with one key, one at a time. */
import type { Member } from './member.ts';

export class Claims {
  /** By what `identify` says. */
  readonly #holders = new Map<string, Member>();
  readonly #waiting = new Map<string, Set<Member>>();

  /** Whether the member has the cluster now. If not it is poked when the cluster is free. */
  claim(key: string, member: Member): boolean {
    const holder = this.#holders.get(key);
    if (!holder || holder === member) {
      this.#holders.set(key, member);
      return true;
    }
    this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(member));
    return false;
  }

  /** Whether it had it. */
  release(key: string, member: Member): boolean {
    if (this.#holders.get(key) !== member) return false;
    this.#holders.delete(key);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const other of waiting) other.poke();
    return true;
  }
}
