/** Whether the pages of a list lead to its end. A list that is true may have as many as it likes. */
import { hash } from 'node:crypto';
import { MalformedResponse } from './malformed.ts';

/** Pages in a row that may bring nothing new, though more follow: a server that looks for few objects among many sends some. */
const mostWithoutNews = 100;

export class Pages {
  readonly #what: string;
  /** Hashes: a server may send tokens and names of any length. */
  readonly #tokens = new Set<string>();
  /** Of the keys of the objects that pages have begun with. */
  readonly #firsts = new Set<string>();
  #withoutNews = 0;

  /** `what` is for messages. */
  constructor(what: string) {
    this.#what = what;
  }

  /** A page has ended that has a next one. Throws `MalformedResponse` where that would go on for ever. */
  goOn(token: string, first: string | undefined): void {
    if (!isAdded(this.#tokens, token)) {
      throw new MalformedResponse(`${this.#what}: the answer: its token for the next page is one that led here`);
    }
    const isNew = first !== undefined && isAdded(this.#firsts, first);
    this.#withoutNews = isNew ? 0 : this.#withoutNews + 1;
    if (this.#withoutNews < mostWithoutNews) return;
    throw new MalformedResponse(
      `${this.#what}: the answer: ${mostWithoutNews} pages in a row bring no other objects, and it says that more follow`,
    );
  }
}

/** Whether it was not there before. */
function isAdded(hashes: Set<string>, text: string): boolean {
  const before = hashes.size;
  return hashes.add(hash('sha256', text, 'base64')).size > before;
}
