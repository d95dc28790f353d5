// Bodies of requests, and what becomes of them.
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../fixtures/random.ts';

/** A body that comes piece by piece. */
export class WatchedBody {
  /** Pieces that were read. */
  read = 0;
  /** Its end has been reached, or it was closed. */
  over = false;
  #pieces: number;
  readonly #piece: Buffer;
  readonly #pauses: boolean;

  /** Endless, or not; in steps of time, or as fast as it is taken. */
  constructor(random: Random) {
    this.#pieces = random.pick([3, 20, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    this.#piece = Buffer.alloc(random.pick([10, 5_000, 70_000]), 120);
    this.#pauses = random.chance(0.5);
  }

  /** Lets it end with the next piece, whoever reads it. */
  stop(): void {
    this.#pieces = 0;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (; this.read < this.#pieces; this.read += 1) {
        if (this.#pauses || this.read % 10 === 9) await pause(this.#pauses ? 5 : 0);
        yield this.#piece;
      }
    } finally {
      this.over = true;
    }
  }

  stream(): Readable {
    const stream = Readable.from(this, { objectMode: false });
    // Whoever closes it before it was begun has closed it, too.
    stream.once('close', () => {
      this.over = true;
    });
    return stream;
  }
}
