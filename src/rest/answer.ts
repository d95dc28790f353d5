/** One request of a generated client: options go in, an answer comes out whose body is read as text, bytes or a stream. */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip as gunzipWithCallback, gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type ClusterOfError, RequestError } from '../errors/index.ts';
import { packingOf } from './packing.ts';

const gunzip = promisify(gunzipWithCallback);
/** What a stream that unpacks takes for an empty body. */
const packedNothing = gzipSync('');

/** Bytes that are taken before anybody says how the body is wanted. */
const unaskedBytes = 1024 * 1024;

/** An answer whose body can be read once. */
export interface Answer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Bytes of the body so far, as they came. */
  readonly size: number;
  text(): Promise<string>;
  binary(): Promise<Buffer>;
  stream(): ReadableStream<Uint8Array>;
  /** The body is not wanted. */
  discard(): void;
}

/**
 * Sends one request. Rejects with the signal's reason, or with what the dispatcher says. A body of more than
 * `maxResponseBytes`, counted after decompression, is an error when it is read as text or bytes.
 */
export function sendRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal | undefined,
  maxResponseBytes: number,
  cluster?: ClusterOfError,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new AnswerHandler(resolve, reject, signal, maxResponseBytes, cluster));
  });
}

class AnswerHandler implements Dispatcher.DispatchHandler, Answer {
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #maxBytes: number;
  readonly #cluster: ClusterOfError | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Uint8Array[] = [];
  #ended = false;
  /** Who waits for the end of the body. */
  #tellEnd: (() => void) | undefined;
  #sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  #wanted = false;
  /** What broke the body off: the caller's abort, or the connection. */
  #failure: { readonly reason: unknown } | undefined;
  statusCode = 0;
  size = 0;
  headers: IncomingHttpHeaders = {};

  constructor(
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
    signal: AbortSignal | undefined,
    maxBytes: number,
    cluster: ClusterOfError | undefined,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    this.#maxBytes = maxBytes;
    this.#cluster = cluster;
  }

  readonly #onAbort = (): void => {
    const reason: unknown = this.#signal?.reason;
    this.#controller?.abort(
      reason instanceof Error ? reason : new RequestError('REQUEST_ABORTED', 'the request was aborted'),
    );
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal?.aborted) this.#onAbort();
    else this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) return;
    this.statusCode = statusCode;
    this.headers = headers;
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.size += chunk.byteLength;
    if (this.#sink) {
      this.#sink.enqueue(chunk);
      if ((this.#sink.desiredSize ?? 0) <= 0) controller.pause();
      return;
    }
    this.#chunks.push(chunk);
    if (this.size > this.#maxBytes) controller.abort(this.#tooLarge());
    else if (!this.#wanted && this.size > unaskedBytes) controller.pause();
  }

  onResponseEnd(): void {
    this.#end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // The caller's own reason, which may be anything.
    const reason: unknown = this.#signal?.aborted ? this.#signal.reason : error;
    this.#end({ reason });
    this.#reject(reason);
  }

  #end(failure: { readonly reason: unknown } | undefined): void {
    this.#ended = true;
    this.#failure = failure;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#tellEnd?.();
    if (!this.#sink) return;
    if (failure) {
      this.#sink.error(failure.reason);
      return;
    }
    if (this.size === 0 && this.#isPacked) this.#sink.enqueue(packedNothing);
    this.#sink.close();
  }

  /** Nothing but gzip is asked for. */
  get #isPacked(): boolean {
    return packingOf(this.headers) === 'gzip';
  }

  async text(): Promise<string> {
    return (await this.binary()).toString('utf8');
  }

  async binary(): Promise<Buffer> {
    const raw = await this.#whole();
    // An empty body is empty, however it is said to be packed: a 204 may say so.
    if (raw.length === 0 || !this.#isPacked) return raw;
    try {
      return await gunzip(raw, { maxOutputLength: this.#maxBytes });
    } catch (error) {
      if (error instanceof RangeError) throw this.#tooLarge();
      const message = 'the body of the answer is not packed as its header says: see what stands between';
      throw new RequestError('RESPONSE_INVALID', message, { cause: error }, this.#cluster);
    }
  }

  async #whole(): Promise<Buffer> {
    this.#wanted = true;
    if (!this.#ended) {
      const ended = new Promise<void>((resolve) => {
        this.#tellEnd = resolve;
      });
      this.#controller?.resume();
      await ended;
    }
    if (this.#failure) throw this.#failure.reason;
    const [first] = this.#chunks;
    const all =
      this.#chunks.length === 1 && first
        ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
        : Buffer.concat(this.#chunks);
    this.#chunks = [];
    return all;
  }

  stream(): ReadableStream<Uint8Array> {
    const raw = new ReadableStream<Uint8Array>(
      {
        start: (sink) => {
          for (const chunk of this.#chunks) sink.enqueue(chunk);
          this.#chunks = [];
          this.#sink = sink;
          if (this.#ended) this.#end(this.#failure);
        },
        pull: () => this.#controller?.resume(),
        cancel: () => this.discard(),
      },
      { highWaterMark: 64 * 1024, size: (chunk) => chunk.byteLength },
    );
    if (!this.#isPacked) return raw;
    return raw.pipeThrough(new DecompressionStream('gzip'));
  }

  discard(): void {
    if (!this.#ended) this.#controller?.abort(new RequestError('REQUEST_ABORTED', 'nobody reads the rest of the body'));
  }

  #tooLarge(): RequestError {
    const message =
      `the answer has more than ${this.#maxBytes} bytes, uncompressed: list it in pages (limit, continue), ` +
      'or raise maxResponseBytes';
    return new RequestError('RESPONSE_TOO_LARGE', message, {}, this.#cluster);
  }
}
