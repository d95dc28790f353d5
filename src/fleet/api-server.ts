/** One API server: a RestConfig comes in, answers to requests go out, whose bodies are read as they come. */

import type { IncomingHttpHeaders } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { FleetError } from '../errors/index.ts';
import { redactBeginning } from '../redaction/redact.ts';
import { packingOf } from '../rest/packing.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import { readBeginning } from '../util/read-beginning.ts';
import { readStatus, type Shown } from './api-status.ts';
import type { Clock } from './clock.ts';
import { type StreamedAnswer, stream } from './streamed-answer.ts';

/** What is needed of a RestConfig. */
export interface ApiServerConfig {
  getCurrentCluster(): { readonly server: string } | null;
  readonly dispatcher: Dispatcher;
}

export type ApiResponse = StreamedAnswer;

interface RequestOptions {
  /** Gives up, whatever has come. */
  readonly signal: AbortSignal;
  /** @default {} */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Milliseconds until an API server has to begin its answer, and goes on with a list. It gives up after 60 s itself. */
export const answerTimeoutMs = 60_000;

export class ApiServer {
  readonly url: string;
  readonly #dispatcher: Dispatcher;

  constructor(config: ApiServerConfig) {
    this.#dispatcher = config.dispatcher;
    this.url = (config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '');
  }

  /** Gets `path`, which begins with a slash. `gzip` accepts a compressed answer. */
  get(path: string, { signal, gzip = false }: { readonly signal: AbortSignal; readonly gzip?: boolean }) {
    return this.#request('GET', path, { signal, headers: gzip ? { 'accept-encoding': 'gzip' } : {} });
  }

  /** Sends an object as JSON. */
  send(method: 'POST' | 'PUT' | 'DELETE', path: string, object: object, signal: AbortSignal) {
    return this.#request(method, path, {
      signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(object),
    });
  }

  /** What may be shown of a text of this server: its first `length` characters, without the credential that it was sent. */
  readonly shown: Shown = (text, length, options) => {
    const dispatcher = this.#dispatcher;
    return dispatcher instanceof AuthenticatedDispatcher
      ? dispatcher.shown(text, length, options)
      : redactBeginning(text, length, [], options);
  };

  /** What a `Status` says, or the beginning of whatever else a refusal has for a body. */
  async refusalOf({ statusCode, headers, body }: ApiResponse, what: string): Promise<FleetError> {
    const bytes = await readBeginning(body, mostOfRefusal).catch(() => Buffer.of());
    const text = unpacked(bytes, this.packingOf(headers));
    const { reason, message } = readStatus(text, this.shown);
    const said = message ?? this.shown(text, 200, { isCut: bytes.length >= mostOfRefusal });
    const seconds = Number([headers['retry-after']].flat()[0]);
    return new FleetError('API_STATUS', `${what}: status ${statusCode}${said === '' ? '' : `: ${said}`}`, {
      statusCode,
      ...(reason === undefined ? {} : { reason }),
      ...(seconds >= 0 ? { retryAfterMs: seconds * 1_000 } : {}),
    });
  }

  /** How a body is packed: `gzip`, for example. Empty where it is not. It may be shown. */
  packingOf(headers: IncomingHttpHeaders): string {
    return this.shown(packingOf(headers), 100);
  }

  /** The answer, whatever its status. */
  #request(
    method: Dispatcher.HttpMethod,
    path: string,
    { signal, headers = {}, ...content }: RequestOptions,
  ): Promise<ApiResponse> {
    const options = {
      ...content,
      method,
      headers: { accept: 'application/json', ...headers },
      // The reflector and the Leases have retries of their own.
      dispatcher:
        this.#dispatcher instanceof AuthenticatedDispatcher ? this.#dispatcher.withoutRetries : this.#dispatcher,
      // A quiet watch is not a dead one; the reader of a list has limits of its own.
      bodyTimeout: 0,
      headersTimeout: answerTimeoutMs,
    };
    return stream(`${this.url}${path}`, options, signal);
  }
}

/** Bytes that are read of an answer that is no success. */
const mostOfRefusal = 16_384;

/** The beginning of a packed text: what stands between may pack what nobody asked for. */
function unpacked(bytes: Buffer, packing: string): string {
  if (packing === '' || bytes.length === 0) return bytes.toString();
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 1024 * 1024 };
    if (packing === 'gzip') return gunzipSync(bytes, options).toString();
  } catch {
    // Said below.
  }
  return `its text is packed (${packing}) and cannot be read`;
}

/** A signal that gives up when another does, or when a time that is set again and again runs out. */
export class Deadline {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onAbort: () => void;
  #cancel = () => {};

  constructor(clock: Clock, outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    this.#onAbort = () => this.#controller.abort(outer.reason);
    if (outer.aborted) this.#onAbort();
    else outer.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on `ms` milliseconds are left. */
  set(ms: number, message: string): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#controller.abort(new FleetError('API_TIMEOUT', message)));
  }

  /** No time is counted until the next `set`. */
  clear(): void {
    this.#cancel();
  }

  /** No time is left to count, and nothing under way is waited for any more. */
  end(): void {
    this.#cancel();
    this.#outer.removeEventListener('abort', this.#onAbort);
    this.#controller.abort(new FleetError('API_TIMEOUT', 'the request has ended'));
  }
}

/** The outcome of a request and of all that is read of its answer. Rejects with `API_TIMEOUT` and the message when time is over. */
export async function within<T>(
  clock: Clock,
  ms: number,
  message: string,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const cancel = clock.after(ms, () => controller.abort(new FleetError('API_TIMEOUT', message)));
  try {
    return await request(controller.signal);
  } finally {
    cancel();
  }
}
