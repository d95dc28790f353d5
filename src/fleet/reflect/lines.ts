/** The lines of a watch: each is one JSON value, and they come in chunks that know nothing of lines. */
import { checkSize } from './malformed.ts';

const newline = 0x0a;

export class Lines {
  #open: Buffer[] = [];
  #openSize = 0;

  /** The lines that have ended with this chunk. */
  push(chunk: Buffer): readonly string[] {
    const end = chunk.lastIndexOf(newline);
    if (end >= 0) {
      const text = Buffer.concat([...this.#open, chunk.subarray(0, end)]).toString('utf8');
      this.#open = [];
      this.#openSize = 0;
      this.#keep(chunk.subarray(end + 1));
      const lines = text.split('\n');
      for (const line of lines) checkSize(line.length);
      return lines.filter((line) => line.trim() !== '');
    }
    this.#keep(chunk);
    return [];
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#open.push(piece);
    this.#openSize += piece.length;
    checkSize(this.#openSize);
  }
}
