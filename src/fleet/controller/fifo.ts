/** First in, first out, each in constant time. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.#head === this.#items.length) return undefined;
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 1_000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
