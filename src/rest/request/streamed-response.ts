/** A response whose body is read as it arrives, without a Node stream between the connection and the reader. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';

/** A response whose body is still to come. */
export interface StreamedResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: StreamedBody;
}

/** Bytes that are kept for a reader. The connection is not read while there are more. */
const mostKept = 65_536;

/**
 * Sends a request by `dispatch`. Resolves when the response begins. Aborting `signal` ends the request and its body with the signal's
 * reason.
 */
export async function stream(
  dispatch: (handler: Dispatcher.DispatchHandler) => void,
  signal: AbortSignal | undefined,
): Promise<StreamedResponse> {
  signal?.throwIfAborted();
  const body = new StreamedBody(signal);
  dispatch(body);
  return { ...(await body.begun), body };
}

/** What has come of a body, and whether more will. */
export class StreamedBody implements Dispatcher.DispatchHandler {
  readonly #begun = Promise.withResolvers<Omit<StreamedResponse, 'body'>>();
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.destroy(this.#signal?.reason);
  #controller: Dispatcher.DispatchController | undefined;
  #pieces: Buffer[] = [];
  #size = 0;
  #ended = false;
  #failure: unknown;
  #wake = () => {};
  #wakes = false;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Resolves when the response begins. */
  get begun(): Promise<Omit<StreamedResponse, 'body'>> {
    return this.#begun.promise;
  }

  /**
   * Waits for the data that has arrived since the last call, in its original pieces. Returns `undefined` at the end. Rejects with the error
   * that ended the body, after everything that came before it. One caller at a time.
   */
  async next(): Promise<readonly Buffer[] | undefined> {
    for (;;) {
      const pieces = this.#take();
      if (pieces.length > 0) return pieces;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** What `next` gives. A loop that is left ends the request. */
  async *groups(): AsyncGenerator<readonly Buffer[], void> {
    try {
      for (let pieces = await this.next(); pieces; pieces = await this.next()) yield pieces;
    } finally {
      this.destroy();
    }
  }

  /** The pieces one by one. A loop that is left ends the request. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    for await (const pieces of this.groups()) yield* pieces;
  }

  /** Reads the rest, so that the connection can be used again. */
  async dump(): Promise<void> {
    for (let pieces = await this.next(); pieces; pieces = await this.next());
  }

  /** Ends the request without waiting, and the body with this reason. */
  destroy(reason: unknown = new Error('the rest of the response is not read')): void {
    if (this.#ended || this.#failure !== undefined) return;
    this.#failure = reason;
    // It may wait for a connection yet.
    this.#begun.reject(reason);
    this.#controller?.abort(asError(reason));
    this.#finish();
  }

  // Called by undici.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(asError(this.#failure));
  }

  onResponseStart(_controller: unknown, statusCode: number, headers: IncomingHttpHeaders): void {
    // Early hints are no response.
    if (statusCode >= 200) this.#begun.resolve({ statusCode, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size > mostKept) controller.pause();
    if (this.#wakes) return;
    this.#wakes = true;
    // What the rest of this turn brings comes with it.
    setImmediate(() => {
      this.#wakes = false;
      this.#wake();
    });
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#finish();
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.#failure ??= error;
    this.#begun.reject(error);
    this.#finish();
  }

  #take(): readonly Buffer[] {
    const pieces = this.#pieces;
    if (pieces.length === 0) return pieces;
    this.#pieces = [];
    this.#size = 0;
    if (this.#controller?.paused) this.#controller.resume();
    return pieces;
  }

  #finish(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#wake();
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new RequestError('REQUEST_ABORTED', 'the request was aborted');
}
