/**
 * Responses: read as they arrive, without a Node stream between the connection and the reader, or as a whole, as those of generated clients
 * and `config.resource` are.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip as gunzipWithCallback } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type ClusterOfError, RequestError } from '../../errors/index.ts';

const gunzip = promisify(gunzipWithCallback);

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
  return body.begun;
}

/** What has come of a body, and whether more will. */
export class StreamedBody implements Dispatcher.DispatchHandler {
  readonly #begun = Promise.withResolvers<StreamedResponse>();
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
  get begun(): Promise<StreamedResponse> {
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
    if (statusCode >= 200) this.#begun.resolve({ statusCode, headers, body: this });
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

export interface Answer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Unpacked. */
  readonly body: Buffer;
}

/**
 * Sends one request, and reads its response. Rejects with the signal's reason, or with the dispatcher's error. A body of more than
 * `maxBytes`, counted after decompression, is an error.
 */
export async function sendRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal | undefined,
  maxBytes: number,
  cluster?: ClusterOfError,
): Promise<Answer> {
  const response = await stream((handler) => dispatcher.dispatch(options, handler), signal);
  return readAnswer(response, maxBytes, cluster);
}

/** The whole of a response, as `sendRequest` gives it. */
export async function readAnswer(
  { statusCode, headers, body: arriving }: StreamedResponse,
  maxBytes: number,
  cluster: ClusterOfError | undefined,
): Promise<Answer> {
  const body = await readBody(arriving, maxBytes, cluster);
  // Nothing but gzip is asked for. An empty body is empty, whatever its header says: a 204 may have one.
  if (body.length === 0 || contentEncodingOf(headers) !== 'gzip') return { statusCode, headers, body };
  try {
    return { statusCode, headers, body: await gunzip(body, { maxOutputLength: maxBytes }) };
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(maxBytes, cluster);
    const message =
      'the body of the response is not compressed as its header says: check the proxies and gateways in between';
    throw new RequestError('RESPONSE_INVALID', message, { cause: error }, cluster);
  }
}

async function readBody(body: StreamedBody, maxBytes: number, cluster: ClusterOfError | undefined): Promise<Buffer> {
  const all: Buffer[] = [];
  let size = 0;
  for (let pieces = await body.next(); pieces; pieces = await body.next()) {
    for (const piece of pieces) size += piece.length;
    if (size > maxBytes) {
      const error = tooLarge(maxBytes, cluster);
      body.destroy(error);
      throw error;
    }
    all.push(...pieces);
  }
  const [first] = all;
  // Most answers come in one piece, which need not be copied.
  return all.length === 1 && first ? first : Buffer.concat(all);
}

function tooLarge(maxBytes: number, cluster: ClusterOfError | undefined): RequestError {
  const message =
    `the answer has more than ${maxBytes} bytes, uncompressed: list it in pages (limit, continue), ` +
    'or raise maxResponseBytes; if it should be small, see what answers there';
  return new RequestError('RESPONSE_TOO_LARGE', message, {}, cluster);
}

/** The content encoding of a body, in lower case, such as `gzip`. Empty if there is none. */
export function contentEncodingOf(headers: IncomingHttpHeaders): string {
  // A header that comes twice is a list.
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  return encoding === 'identity' ? '' : encoding;
}
