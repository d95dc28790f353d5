/** Splits the chunks of a watch into lines. Each line is one JSON value. */
import { longestObject, TooLarge } from '../../rest/api/malformed.ts';

const newline = 0x0a;
const nothing = Buffer.alloc(0);

export class Lines {
  /** The beginning of the next line. */
  #open: Buffer[] = [];
  #openBytes = 0;

  /**
   * Returns the lines that these pieces completed, for `linesOf`.
   * @throws {TooLarge} if the next line is longer than any object
   */
  push(pieces: readonly Buffer[]): Buffer {
    const last = pieces.findLastIndex((piece) => piece.includes(newline));
    const piece = pieces[last];
    if (!piece) {
      this.#keep(pieces);
      return nothing;
    }
    const end = piece.lastIndexOf(newline);
    const ended = Buffer.concat([...this.#open, ...pieces.slice(0, last), piece.subarray(0, end)]);
    this.#open = [];
    this.#openBytes = 0;
    this.#keep([piece.subarray(end + 1), ...pieces.slice(last + 1)]);
    return ended;
  }

  #keep(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#open.push(piece);
      this.#openBytes += piece.length;
    }
    if (this.#openBytes > longestObject) throw new TooLarge();
  }
}

/** @throws {TooLarge} if one of them is longer than any object. */
export function linesOf(ended: Buffer): readonly string[] {
  const lines = ended.toString('utf8').split('\n');
  if (lines.some(({ length }) => length > longestObject)) throw new TooLarge();
  return lines.filter((line) => line.trim() !== '');
}
