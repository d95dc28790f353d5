/** Bytes that arrive in pieces, up to a limit. */
import { TooLarge } from './malformed.ts';

const nothing = Buffer.alloc(0);

/** Copies the pieces into one buffer: a server may send each byte in its own frame, and a Buffer for each takes a hundred times as much. */
export class ByteBuffer {
  readonly #limit: number;
  #room = nothing;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws {TooLarge} beyond the limit. */
  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (size > this.#limit) throw new TooLarge();
    if (size > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(size, Math.min(2 * this.#room.length, this.#limit)));
      this.#room.copy(room, 0, 0, this.#size);
      this.#room = room;
    }
    piece.copy(this.#room, this.#size);
    this.#size = size;
  }

  /** Returns the content and empties the buffer. */
  take(): Buffer {
    const taken = this.#room.subarray(0, this.#size);
    this.#room = nothing;
    this.#size = 0;
    return taken;
  }
}
