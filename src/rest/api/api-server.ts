/** One API server: a RestConfig comes in, responses go out, whose bodies are read as they arrive. */

import type { IncomingHttpHeaders } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { ApiError } from '../../errors/index.ts';
import { isLoopback } from '../../util/hosts.ts';
import { readBeginning } from '../../util/read-beginning.ts';
import { contentEncodingOf } from '../content-encoding.ts';
import type { AuthenticatedDispatcher } from '../request/dispatcher.ts';
import { refusalError, type Shown } from './api-status.ts';
import { answerTimeoutMs } from './deadline.ts';
import { type StreamedResponse, stream } from './streamed-response.ts';

/** The part of a RestConfig that is needed. */
export interface ApiServerConfig {
  getCurrentCluster(): { readonly server: string } | null;
  readonly dispatcher: Dispatcher;
}

interface RequestOptions {
  /** Gives up, whatever has come. */
  readonly signal: AbortSignal;
  /** @default {} */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface GetOptions {
  readonly signal: AbortSignal;
  /** @default false */
  readonly gzip?: boolean;
  /** @default `application/json` */
  readonly accept?: string;
}

const json = 'application/json';

export class ApiServer {
  readonly url: string;
  readonly #dispatcher: AuthenticatedDispatcher;

  constructor(config: ApiServerConfig) {
    this.#dispatcher = config.dispatcher as AuthenticatedDispatcher; // every RestConfig has one
    this.url = (config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '');
  }

  /** Gets `path`, which begins with a slash. `gzip` accepts a compressed answer, unless the server is on this machine. */
  get(path: string, { signal, gzip = false, accept = json }: GetOptions) {
    const packed = gzip && !isLoopback(new URL(this.url).hostname);
    return this.#request('GET', path, {
      signal,
      headers: { accept, ...(packed ? { 'accept-encoding': 'gzip' } : {}) },
    });
  }

  /** Sends an object as JSON. */
  send(method: 'POST' | 'PUT' | 'DELETE', path: string, object: object, signal: AbortSignal) {
    return this.#request(method, path, {
      signal,
      headers: { 'content-type': json },
      body: JSON.stringify(object),
    });
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

  /** The answer, whatever its status. */
  #request(
    method: Dispatcher.HttpMethod,
    path: string,
    { signal, headers = {}, ...content }: RequestOptions,
  ): Promise<StreamedResponse> {
    const options = {
      ...content,
      method,
      headers: { accept: json, ...headers },
      // The reflector and the Leases have retries of their own.
      dispatcher: this.#dispatcher.withoutRetries,
      // A quiet watch is not a dead one; the reader of a list has limits of its own.
      bodyTimeout: 0,
      headersTimeout: answerTimeoutMs,
    };
    return stream(`${this.url}${path}`, options, signal);
  }
}

/** Bytes that are read of an answer that is no success. */
const mostOfRefusal = 16_384;

/** Decompresses the beginning of a text: a proxy in between may compress without being asked to. */
function decompressed(bytes: Buffer, encoding: string): string {
  if (encoding === '' || bytes.length === 0) return bytes.toString();
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 1024 * 1024 };
    if (encoding === 'gzip') return gunzipSync(bytes, options).toString();
  } catch {
    // Said below.
  }
  return `its text is compressed (${encoding}) and cannot be read`;
}
