/** A run that takes this part of its timeout or more is slow: its input leaves some places to others. */
const slow = 1 / 4;
/** The part of one place that an input may use while others wait, one in so many: who uses more waits for longer. */
const fairShare = 20;

/** What is known of one plugin input, to be handed over with each of its runs: how much of the places it uses. */
export class RunHistory {
  /** Milliseconds that the next run is expected to take; `undefined` where there has been none. */
  #expectedMs: number | undefined;
  /** When what it has used so far is no more than its share. */
  #paidUntil = 0;

  /** The queue that it belongs to. */
  kind(timeoutMs: number): Kind {
    if (this.#expectedMs === undefined) return 'new';
    return this.#expectedMs > timeoutMs * slow ? 'slow' : 'prompt';
  }

  get expectedMs(): number {
    return this.#expectedMs ?? 0;
  }

  /** By when a run that is asked for now has to begin, compared with others. */
  dueAt(now: number, timeoutMs: number): number {
    if (this.#expectedMs === undefined) return now + timeoutMs / 2;
    return Math.max(now + fairShare * this.#expectedMs, this.#paidUntil);
  }

  /** A run has ended. One that was killed would have taken all of its time, or more, whatever it was given. */
  add(usedMs: number, wasKilled: boolean, timeoutMs: number, now: number): void {
    this.#expectedMs = wasKilled ? timeoutMs : Math.max(usedMs, this.expectedMs / 4);
    const paidUntil = Math.max(this.#paidUntil, now - usedMs) + fairShare * usedMs;
    this.#paidUntil = Math.min(paidUntil, now + fairShare * timeoutMs);
  }
}

/** An input that has never run; one that needs little time; one that is slow, or hangs. */
export type Kind = 'new' | 'prompt' | 'slow';
