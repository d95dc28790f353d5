import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

type Body = NonNullable<Dispatcher.DispatchOptions['body']> | null;

/** The longest streamed body that is kept for a replay, in bytes. */
const replayLimit = 4 * 1024 * 1024;

/**
 * A request body that can be sent a second time where possible: text and buffers as they are, a stream (and fetch makes
 * one of everything) by keeping what passes, up to 4 MiB. A stream is this body's own from the beginning: its request is aborted
 * when it fails, whether or not anybody reads it yet, and `close()` ends what has not been read.
 */
export class ReplayableBody {
  readonly #body: Body;
  /** It comes piece by piece, and may not come a second time. */
  readonly streamed: boolean;
  /** Ends with the body's error. */
  readonly #request: Pick<Dispatcher.DispatchController, 'abort'>;
  #passing: AsyncGenerator<Uint8Array> | undefined;
  #kept: Uint8Array[] | undefined = [];
  #size = 0;
  #complete = false;
  /** Its reader has left it, and this is why it fails from now on. */
  #left = false;

  constructor(body: Dispatcher.DispatchOptions['body'], request: Pick<Dispatcher.DispatchController, 'abort'>) {
    this.#body = body ?? null;
    this.streamed = isStreamed(this.#body);
    this.#request = request;
    // Stays for good: a stream may fail before it is read, or after it was abandoned, without another listener.
    if (this.streamed && isNodeStream(this.#body))
      this.#body.on('error', (error) => {
        if (!this.#left) request.abort(error);
      });
  }

  /** What goes out with the next attempt. */
  next(): Body {
    if (!this.streamed) return this.#body;
    if (this.#passing) return Buffer.concat(this.#kept ?? []);
    this.#passing = this.#pass();
    return this.#passing as unknown as Body; // undici takes any async iterable; its types name only some of them
  }

  /** False while a stream is still being sent, and for one over the limit. */
  get replayable(): boolean {
    return !this.streamed || (this.#complete && this.#kept !== undefined);
  }

  /** No longer read. */
  close(): void {
    if (!this.streamed || this.#complete) return;
    const body = this.#body;
    if (isNodeStream(body)) body.destroy?.();
    else if (this.#passing) this.#passing.return(undefined).catch(() => undefined);
    else if (body instanceof ReadableStream && !body.locked) body.cancel().catch(() => undefined);
  }

  async *#pass(): AsyncGenerator<Uint8Array> {
    const body = this.#body as unknown as AsyncIterable<Uint8Array | string>; // isStreamed has looked
    // Leaving one of Node's iterators destroys the stream, which then fails before the cause can be reported.
    const pieces = body instanceof Readable ? body.iterator({ destroyOnReturn: false }) : body;
    try {
      for await (const chunk of pieces) {
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        this.#keep(bytes);
        yield bytes;
      }
      this.#complete = true;
    } catch (error) {
      this.#request.abort(
        error instanceof Error ? error : new Error('the body of the request failed', { cause: error }),
      );
      throw error;
    } finally {
      if (!this.#complete) {
        this.#left = true;
        if (body instanceof Readable) body.destroy();
      }
    }
  }

  #keep(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    if (this.#size > replayLimit) this.#kept = undefined;
    this.#kept?.push(chunk);
  }
}

function isStreamed(body: Body): boolean {
  if (typeof body !== 'object' || body === null || ArrayBuffer.isView(body)) return false;
  if (Symbol.asyncIterator in body || isNodeStream(body)) return true;
  // FormData is iterable too, but undici encodes it anew each time.
  return Symbol.iterator in body && body[Symbol.toStringTag as never] !== 'FormData'; // a key every object may lack
}

/** A stream of Node, or of a library that does as Node does. */
function isNodeStream(body: unknown): body is NodeJS.ReadableStream & { destroy?(): void } {
  const { pipe, on } = Object(body);
  return typeof body === 'object' && typeof pipe === 'function' && typeof on === 'function';
}
