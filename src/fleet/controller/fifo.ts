/** First in, first out, and each item once. All of it takes constant time. */
export class Fifo<T> {
  readonly #items = new Set<T>();
  /** Kept between shifts: a new iterator would step over the places of deleted items again. */
  readonly #rest = this.#items.values();

  get size(): number {
    return this.#items.size;
  }

  add(item: T): void {
    this.#items.add(item);
  }

  delete(item: T): void {
    this.#items.delete(item);
  }

  clear(): void {
    this.#items.clear();
  }

  shift(): T | undefined {
    // An iterator that has come to the end stays there.
    if (this.#items.size === 0) return undefined;
    const { value } = this.#rest.next();
    if (value !== undefined) this.#items.delete(value);
    return value;
  }
}
