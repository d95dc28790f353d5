/** A run that takes more than this part of its timeout is slow. Slow inputs leave some places to others. */
const slow = 1 / 4;
/** While others wait, an input may use one place for one part in so many of the time. An input that uses more waits longer. */
const fairShare = 20;

/** What is known of one plugin input, to be handed over with each of its runs: how much of the places it uses. */
export class RunHistory {
  /** Milliseconds that the next run is expected to take; `undefined` where there has been none. */
  #expectedMs: number | undefined;
  /** From this time on, what it has used is no more than its share. */
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

  /** A run has ended. A run that was killed counts as one that took the whole timeout, even if it was given only a part of it. */
  add(usedMs: number, wasKilled: boolean, timeoutMs: number, now: number): void {
    this.#expectedMs = wasKilled ? timeoutMs : Math.max(usedMs, this.expectedMs / 4);
    const paidUntil = Math.max(this.#paidUntil, now - usedMs) + fairShare * usedMs;
    this.#paidUntil = Math.min(paidUntil, now + fairShare * timeoutMs);
  }
}

/** An input that has never run; one that needs little time; one that is slow, or hangs. */
export type Kind = 'new' | 'prompt' | 'slow';
