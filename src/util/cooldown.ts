/** Blocks retries for a while. Setting the clock back ends it, so that it never lasts longer than intended. */
export class Cooldown {
  #from = 0;
  #until = 0;

  /** Starts at `now`, for `ms` milliseconds. */
  set(now: number, ms: number): void {
    this.#from = now;
    this.#until = now + ms;
  }

  clear(): void {
    this.#until = 0;
  }

  /** Milliseconds left; 0 if it is over. */
  left(now: number): number {
    return now < this.#from || now >= this.#until ? 0 : this.#until - now;
  }
}

/** A count that falls by one every `everyMs` milliseconds, also after the clock was set back. */
export class LeakyBucket {
  readonly #everyMs: number;
  #level = 0;
  #at = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  level(now: number): number {
    const passed = Math.max(0, now - this.#at);
    this.#level = Math.max(0, this.#level - passed / this.#everyMs);
    this.#at = now;
    return this.#level;
  }

  /** Adds one, up to `most`. */
  add(now: number, most: number): void {
    this.#level = Math.min(most, this.level(now) + 1);
  }
}
