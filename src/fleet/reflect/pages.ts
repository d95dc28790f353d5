/** Whether the pages of a list lead to its end. A list that is true may have as many as it likes. */
import { MalformedResponse } from './malformed.ts';

/** Pages in a row that may bring nothing new, though more follow: a server that looks for few objects among many sends some. */
const mostWithoutNews = 100;

export class Pages {
  readonly #what: string;
  readonly #tokens = new Set<string>();
  /** The keys of the objects that pages have begun with. */
  readonly #firsts = new Set<string>();
  #withoutNews = 0;

  /** `what` is for messages. */
  constructor(what: string) {
    this.#what = what;
  }

  /** A page has ended that has a next one. Throws `MalformedResponse` where that would go on for ever. */
  goOn(token: string, first: string | undefined): void {
    if (this.#tokens.has(token)) {
      throw new MalformedResponse(`${this.#what}: the answer: its token for the next page is one that led here`);
    }
    this.#tokens.add(token);
    const isNew = first !== undefined && !this.#firsts.has(first);
    this.#withoutNews = isNew ? 0 : this.#withoutNews + 1;
    if (isNew) this.#firsts.add(first);
    if (this.#withoutNews < mostWithoutNews) return;
    throw new MalformedResponse(
      `${this.#what}: the answer: ${mostWithoutNews} pages in a row bring no other objects, and it says that more follow`,
    );
  }
}
