/** The lines of a watch: each is one JSON value, and they come in chunks that know nothing of lines. */
import { checkSize } from './malformed.ts';
import { Unfinished } from './unfinished.ts';

const newline = 0x0a;

export class Lines {
  readonly #open = new Unfinished();

  /** The lines that have ended with these pieces. */
  push(pieces: readonly Buffer[]): readonly string[] {
    const last = pieces.findLastIndex((piece) => piece.includes(newline));
    const piece = pieces[last];
    if (!piece) {
      for (const open of pieces) this.#open.add(open);
      return [];
    }
    const end = piece.lastIndexOf(newline);
    const ended = [this.#open.take(), ...pieces.slice(0, last), piece.subarray(0, end)];
    for (const open of [piece.subarray(end + 1), ...pieces.slice(last + 1)]) this.#open.add(open);
    const lines = Buffer.concat(ended).toString('utf8').split('\n');
    for (const line of lines) checkSize(line.length);
    return lines.filter((line) => line.trim() !== '');
  }
}
