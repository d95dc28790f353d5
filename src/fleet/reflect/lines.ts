/** Splits the chunks of a watch into lines. Each line is one JSON value. */
import { ByteBuffer } from './byte-buffer.ts';
import { longestObject, TooLarge } from './malformed.ts';

const newline = 0x0a;
const nothing = Buffer.alloc(0);

export class Lines {
  readonly #open = new ByteBuffer(longestObject);

  /** Returns the lines that these pieces completed, for `linesOf`. */
  push(pieces: readonly Buffer[]): Buffer {
    const last = pieces.findLastIndex((piece) => piece.includes(newline));
    const piece = pieces[last];
    if (!piece) {
      for (const open of pieces) this.#open.add(open);
      return nothing;
    }
    const end = piece.lastIndexOf(newline);
    const ended = [this.#open.take(), ...pieces.slice(0, last), piece.subarray(0, end)];
    for (const open of [piece.subarray(end + 1), ...pieces.slice(last + 1)]) this.#open.add(open);
    return Buffer.concat(ended);
  }
}

/** @throws {TooLarge} if one of them is longer than any object. */
export function linesOf(ended: Buffer): readonly string[] {
  const lines = ended.toString('utf8').split('\n');
  if (lines.some(({ length }) => length > longestObject)) throw new TooLarge();
  return lines.filter((line) => line.trim() !== '');
}
