/** Holds something back for a while. A clock that is set back ends it: nothing is held for longer than was said. */
export class Hold {
  #from = 0;
  #until = 0;

  /** From `now` on, for `ms` milliseconds. */
  set(now: number, ms: number): void {
    this.#from = now;
    this.#until = now + ms;
  }

  clear(): void {
    this.#until = 0;
  }

  /** When it ends, or has ended. */
  get until(): number {
    return this.#until;
  }

  /** Milliseconds that are left; 0 where nothing is held. */
  left(now: number): number {
    return now < this.#from || now >= this.#until ? 0 : this.#until - now;
  }
}

/** A count that sinks by one in every `everyMs` milliseconds. A clock that is set back does not make it stand still. */
export class SinkingCount {
  readonly #everyMs: number;
  #value = 0;
  #at = 0;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** What is left of it. */
  value(now: number): number {
    const passed = Math.max(0, now - this.#at);
    this.#value = Math.max(0, this.#value - passed / this.#everyMs);
    this.#at = now;
    return this.#value;
  }

  /** Counts one more, up to `most`. */
  add(now: number, most: number): void {
    this.#value = Math.min(most, this.value(now) + 1);
  }
}
