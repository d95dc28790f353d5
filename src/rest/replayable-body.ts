import type { Dispatcher } from 'undici';

type Body = NonNullable<Dispatcher.DispatchOptions['body']> | null;

/** The longest streamed body that is kept for a replay, in bytes. */
const replayLimit = 4 * 1024 * 1024;

/**
 * A request body that can be sent a second time where possible: text and buffers as they are, a stream (and fetch makes
 * one of everything) by keeping what passes, up to 4 MiB.
 */
export class ReplayableBody {
  readonly #body: Body;
  readonly #streamed: boolean;
  #kept: Uint8Array[] | undefined = [];
  #size = 0;
  #complete = false;

  constructor(body: Dispatcher.DispatchOptions['body']) {
    this.#body = body ?? null;
    this.#streamed = isStreamed(this.#body);
  }

  /** What goes out with the first try. */
  first(): Body {
    return this.#streamed
      ? passing(
          this.#body,
          (chunk) => this.#keep(chunk),
          () => this.#end(),
        )
      : this.#body;
  }

  /** It comes piece by piece, and may not come a second time. */
  get streamed(): boolean {
    return this.#streamed;
  }

  /** False while a stream is still being sent, and for one over the limit. */
  get replayable(): boolean {
    return !this.#streamed || (this.#complete && this.#kept !== undefined);
  }

  /** What goes out with the second try. */
  again(): Body {
    return this.#streamed ? Buffer.concat(this.#kept ?? []) : this.#body;
  }

  #keep(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.#size > replayLimit) this.#kept = undefined;
    this.#kept?.push(chunk);
  }

  #end(): void {
    this.#complete = true;
  }
}

function isStreamed(body: Body): boolean {
  if (typeof body !== 'object' || body === null || body instanceof Uint8Array) return false;
  // FormData is iterable too, but undici encodes it anew each time.
  return Symbol.asyncIterator in body || (Symbol.iterator in body && body[Symbol.toStringTag as never] !== 'FormData'); // a key every object may lack
}

/** undici takes any async iterable as a body; its types name only some of them. */
function passing(body: Body, keep: (chunk: Uint8Array) => void, end: () => void): Body {
  const source = body as unknown as AsyncIterable<Uint8Array | string>; // isStreamed has looked
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      keep(bytes);
      yield bytes;
    }
    end();
  }
  return chunks() as unknown as Body; // see above
}
