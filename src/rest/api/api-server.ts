/** One API server: a RestConfig comes in, responses go out, whose bodies are read as they arrive, and for which there is a time limit. */
import type { IncomingHttpHeaders } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { withoutLastSlashes } from '../../access/url-pattern.ts';
import { ApiError } from '../../errors/index.ts';
import type { Timers } from '../../util/abortable.ts';
import { isLoopback } from '../../util/hosts.ts';
import { readBeginning } from '../../util/printable.ts';
import { contentEncodingOf } from '../request/answer.ts';
import type { AuthenticatedDispatcher } from '../request/dispatcher.ts';
import { type StreamedResponse, stream } from '../request/streamed-response.ts';
import { refusalError, type Shown } from './api-status.ts';

/** The part of a RestConfig that is needed. */
export interface ApiServerConfig {
  readonly dispatcher: Dispatcher;
}

interface GetOptions {
  /** Gives up, whatever has come. */
  readonly signal: AbortSignal;
  /** @default false */
  readonly gzip?: boolean;
  /** @default `application/json` */
  readonly accept?: string;
}

export class ApiServer {
  readonly url: string;
  readonly #dispatcher: AuthenticatedDispatcher;

  constructor({ dispatcher }: ApiServerConfig) {
    this.#dispatcher = dispatcher as AuthenticatedDispatcher; // every RestConfig has one
    this.url = withoutLastSlashes(this.#dispatcher.cluster.server);
  }

  /**
   * Gets `path`, which begins with a slash: the answer, whatever its status. `gzip` accepts a compressed one, unless the server is on
   * this machine.
   */
  get(path: string, { signal, gzip = false, accept = 'application/json' }: GetOptions): Promise<StreamedResponse> {
    const { origin, hostname, pathname, search } = new URL(`${this.url}${path}`);
    const packed = gzip && !isLoopback(hostname);
    const options = {
      origin,
      path: `${pathname}${search}`,
      method: 'GET',
      headers: { accept, ...(packed ? { 'accept-encoding': 'gzip' } : {}) },
      // A quiet watch is not a dead one; the reader of a list has limits of its own.
      bodyTimeout: 0,
      headersTimeout: answerTimeoutMs,
    } as const;
    // The reflector has retries of its own.
    return stream((handler) => this.#dispatcher.withoutRetries.dispatch(options, handler), signal);
  }

  /** Returns the first `length` characters of this server's text, without the credential that it was sent. */
  readonly shown: Shown = (text, length, options) => this.#dispatcher.shown(text, length, options);

  /** The error for a refused request, with the message of its `Status`, or the beginning of another body. */
  async refusalOf({ statusCode, headers, body }: StreamedResponse, what: string): Promise<ApiError> {
    const bytes = await readBeginning(body, mostOfRefusal).catch(() => Buffer.of());
    const text = decompressed(bytes, this.contentEncodingOf(headers));
    const refusal = { statusCode, headers, text, isCut: bytes.length >= mostOfRefusal };
    return refusalError(`${what}: status ${statusCode}`, refusal, this.shown, this.#dispatcher.cluster);
  }

  /** The compression of a body: `gzip`, for example. Empty if there is none. Redacted. */
  contentEncodingOf(headers: IncomingHttpHeaders): string {
    return this.shown(contentEncodingOf(headers), 100);
  }
}

/** The bytes that are read of an unsuccessful response. */
const mostOfRefusal = 16_384;

/** Decompresses the beginning of a text: a proxy in between may compress without being asked to. */
function decompressed(bytes: Buffer, encoding: string): string {
  if (encoding === '') return bytes.toString();
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 1024 * 1024 }).toString();
  } catch {
    return `its text is compressed (${encoding}) and cannot be read`;
  }
}

/** Milliseconds until an API server must begin its answer, and between two parts of a list. The server itself gives up after 60 s. */
export const answerTimeoutMs = 60_000;

/** A signal that aborts with another one, or with `API_TIMEOUT` when the time that was set last has passed. */
export class Deadline {
  readonly #clock: Timers;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason);
  #cancel = () => {};

  constructor(clock: Timers, outer?: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts in `ms` milliseconds, and not at the time that was set before. */
  set(ms: number, message: string): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#controller.abort(new ApiError('API_TIMEOUT', message)));
  }

  /** Stops counting until the next `set`. */
  clear(): void {
    this.#cancel();
  }

  /** Stops counting, and aborts whatever of the request is still in progress. */
  end(): void {
    this.#cancel();
    this.#outer?.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new ApiError('API_TIMEOUT', 'the request has ended'));
  }
}

/**
 * Runs one request, and reads its response, within `ms` milliseconds.
 *
 * @throws {ApiError} `API_TIMEOUT` with `message` when the time has passed
 */
export async function within<T>(
  clock: Timers,
  ms: number,
  message: string,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline(clock);
  deadline.set(ms, message);
  try {
    return await request(deadline.signal);
  } finally {
    deadline.clear();
  }
}
