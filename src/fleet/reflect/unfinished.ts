/** What has come of a line or an object that has not ended. */
import { checkSize, longestObject } from './malformed.ts';

const nothing = Buffer.alloc(0);

/** A copy in one piece: a server may send each byte in a frame of its own, and to keep a Buffer for each takes a hundred times as much. */
export class Unfinished {
  #room = nothing;
  #size = 0;

  /** Throws `MalformedResponse` where it would be larger than any object. */
  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    checkSize(size);
    if (size > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(size, Math.min(2 * this.#room.length, longestObject)));
      this.#room.copy(room, 0, 0, this.#size);
      this.#room = room;
    }
    piece.copy(this.#room, this.#size);
    this.#size = size;
  }

  /** All of it. Nothing is kept of it. */
  take(): Buffer {
    const taken = this.#room.subarray(0, this.#size);
    this.#room = nothing;
    this.#size = 0;
    return taken;
  }
}
