/**
 * How long something takes beside its peer. The two of a pair begin at the same moment in the same process, so whatever the machine
 * does at that moment, it does to both.
 */
export class Pairs {
  readonly #ours: number[] = [];
  readonly #peers: number[] = [];

  async sample(ours: () => Promise<unknown>, peer: () => Promise<unknown>): Promise<void> {
    const timed = async (act: () => Promise<unknown>) => {
      const began = performance.now();
      await act();
      return performance.now() - began;
    };
    // Neither is always the first.
    const swapped = this.#ours.length % 2 === 1;
    const both = await Promise.all((swapped ? [peer, ours] : [ours, peer]).map(timed));
    const [mine = Number.NaN, theirs = Number.NaN] = swapped ? both.toReversed() : both;
    this.#ours.push(mine);
    this.#peers.push(theirs);
  }

  get count(): number {
    return this.#ours.length;
  }

  /** Ours beside the peer's: the time within which such a share of them has ended. */
  ratio(share: number): number {
    return quantile(this.#ours, share) / quantile(this.#peers, share);
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
