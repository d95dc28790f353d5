// Random choices that a seed repeats.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** At least 0, less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<const T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error('there is nothing to choose from');
    return choices[Math.floor(this.next() * choices.length)] as T; // the index is within the list
  }

  /** One of several, each as often as its weight says. */
  weighted<const T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error('there is nothing to choose from');
  }

  /** Each with a probability of its own. */
  some<T extends object>(probability: number, value: T): T | Record<string, never> {
    return this.chance(probability) ? value : {};
  }
}
