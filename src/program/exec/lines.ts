/** Output of several processes on one terminal: each line whole, and with its owner's name in front. */
import { StringDecoder } from 'node:string_decoder';

/** The most of a line without an end that is kept, in characters: then what is there is a line. */
const longestLine = 64 * 1024;

/** Cuts chunks of bytes into whole lines, without their ends. */
export class LineCutter {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  /** The lines that a chunk ends. */
  push(chunk: Buffer): readonly string[] {
    const lines = `${this.#rest}${this.#decoder.write(chunk)}`.split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length <= longestLine) return lines;
    const long = this.#rest;
    this.#rest = '';
    return [...lines, long];
  }

  /** What stands after the last line break. */
  end(): readonly string[] {
    const last = `${this.#rest}${this.#decoder.end()}`;
    this.#rest = '';
    return last === '' ? [] : [last];
  }
}
