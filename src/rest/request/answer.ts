/** One request whose response is read as a whole, as those of generated clients and `config.resource` are. */
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip as gunzipWithCallback } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type ClusterOfError, RequestError } from '../../errors/index.ts';
import { type StreamedBody, type StreamedResponse, stream } from './streamed-response.ts';

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
