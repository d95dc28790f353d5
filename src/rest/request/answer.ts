/** One request whose response is read as a whole, as those of generated clients and `config.resource` are. */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip as gunzipWithCallback } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type ClusterOfError, RequestError } from '../../errors/index.ts';

const gunzip = promisify(gunzipWithCallback);

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
  const reader = new AnswerReader(signal, maxBytes, cluster);
  dispatcher.dispatch(options, reader);
  const { statusCode, headers, body } = await reader.answer;
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

/** Reads one response as a whole. Aborting `signal` ends the request with its reason. */
export class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #answer = Promise.withResolvers<Answer>();
  readonly #signal: AbortSignal | undefined;
  readonly #maxBytes: number;
  readonly #cluster: ClusterOfError | undefined;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #statusCode = 0;
  #headers: IncomingHttpHeaders = {};
  #size = 0;

  constructor(signal: AbortSignal | undefined, maxBytes: number, cluster: ClusterOfError | undefined) {
    this.#signal = signal;
    this.#maxBytes = maxBytes;
    this.#cluster = cluster;
  }

  get answer(): Promise<Answer> {
    return this.#answer.promise;
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
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.byteLength;
    this.#chunks.push(chunk);
    if (this.#size > this.#maxBytes) controller.abort(tooLarge(this.#maxBytes, this.#cluster));
  }

  onResponseEnd(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#answer.resolve({ statusCode: this.#statusCode, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    // The caller's own reason, which may be anything.
    this.#answer.reject(this.#signal?.aborted ? this.#signal.reason : error);
  }
}

function tooLarge(maxBytes: number, cluster: ClusterOfError | undefined): RequestError {
  const message =
    `the answer has more than ${maxBytes} bytes, uncompressed: list it in pages (limit, continue), ` +
    'or raise maxResponseBytes; if it should be small, see what answers there';
  return new RequestError('RESPONSE_TOO_LARGE', message, {}, cluster);
}

/** The content encoding of a body, in lower case, such as `gzip`, which has a second name (RFC 9110). Empty if there is none. */
export function contentEncodingOf(headers: IncomingHttpHeaders): string {
  const given = headers['content-encoding'];
  if (given === undefined || given === 'gzip') return given ?? '';
  const encodings = [given].flat().join(',').toLowerCase().split(',');
  return encodings
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity')
    .map((encoding) => (encoding === 'x-gzip' ? 'gzip' : encoding))
    .join(', ');
}
