import type { IncomingHttpHeaders } from 'node:http';
import type { RawHeaders } from './relayed-controller.ts';

/** The longest body of a 401 that is held while the credential is refreshed, in bytes. */
const bufferLimit = 256 * 1024;

/** A 401 that is held while the credential is refreshed: the caller gets it if no better one comes. */
export class BufferedResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly statusMessage: string | undefined;
  readonly rawHeaders: RawHeaders;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  /** How its body ended, once it has. */
  end: { readonly trailers: IncomingHttpHeaders } | { readonly error: Error } | undefined;
  /** The caller has its headers, and gets its body as fast as it reads. */
  handedOver = false;

  constructor(
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage: string | undefined,
    rawHeaders: RawHeaders,
  ) {
    this.statusCode = statusCode;
    this.headers = headers;
    this.statusMessage = statusMessage;
    this.rawHeaders = rawHeaders;
  }

  add(chunk: Buffer): void {
    // undici may use the memory again.
    this.#chunks.push(Buffer.from(chunk));
    this.#size += chunk.length;
  }

  /** The next piece of the body. */
  take(): Buffer | undefined {
    return this.#chunks.shift();
  }

  /** Longer than what is held. */
  get tooLong(): boolean {
    return this.#size > bufferLimit;
  }
}
