/** Output of several processes on one terminal: each line whole, and with its owner's name in front. */
import { StringDecoder } from 'node:string_decoder';

/** The most characters of an unfinished line that are kept. */
const longestLine = 64 * 1024;

/** Cuts chunks of bytes into whole lines, with their ends. A line that is too long to keep comes in pieces. */
export class LineCutter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #breaksLongLines: boolean;
  #rest = '';
  /** A piece without an end has come. */
  #isOpen = false;

  /** With `breaksLongLines` such a piece becomes a line of its own. */
  constructor({ breaksLongLines }: { readonly breaksLongLines: boolean }) {
    this.#breaksLongLines = breaksLongLines;
  }

  /** The lines that a chunk ends, and the piece of a line that is too long. */
  push(chunk: Buffer): readonly string[] {
    const parts = `${this.#rest}${this.#decoder.write(chunk)}`.split('\n');
    this.#rest = parts.pop() ?? '';
    const lines = parts.map((line) => `${line}\n`);
    if (lines.length > 0) this.#isOpen = false;
    if (this.#rest.length <= longestLine) return lines;
    const long = this.#rest;
    this.#rest = '';
    if (this.#breaksLongLines) return [...lines, `${long}\n`];
    this.#isOpen = true;
    return [...lines, long];
  }

  /** What stands after the last line break, with a line break. */
  end(): readonly string[] {
    const last = `${this.#rest}${this.#decoder.end()}`;
    this.#rest = '';
    return last === '' && !this.#isOpen ? [] : [`${last}\n`];
  }
}
