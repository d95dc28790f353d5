/** The lines of a watch: each is one JSON value, and they come in chunks that know nothing of lines. */
import { checkSize } from './malformed.ts';

const newline = 0x0a;

export class Lines {
  #open: Buffer[] = [];
  #openSize = 0;

  /** The lines that have ended with these pieces. */
  push(pieces: readonly Buffer[]): readonly string[] {
    const last = pieces.findLastIndex((piece) => piece.includes(newline));
    const piece = pieces[last];
    if (!piece) {
      this.#keep(pieces);
      return [];
    }
    const end = piece.lastIndexOf(newline);
    const text = Buffer.concat([...this.#open, ...pieces.slice(0, last), piece.subarray(0, end)]).toString('utf8');
    this.#open = [];
    this.#openSize = 0;
    this.#keep([piece.subarray(end + 1), ...pieces.slice(last + 1)]);
    const lines = text.split('\n');
    for (const line of lines) checkSize(line.length);
    return lines.filter((line) => line.trim() !== '');
  }

  #keep(pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#open.push(piece);
      this.#openSize += piece.length;
    }
    checkSize(this.#openSize);
  }
}
