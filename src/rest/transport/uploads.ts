/** Long bodies of requests: how HTTP/2 sends them without filling Node's memory. */
import type { WireRequest } from './pooled-request.ts';

/** Bytes from which a body is an upload. A hundred bodies of this length are less than `maxSessionMemory`. */
const uploadBytes = 64 * 1024;
/** Bytes that are written at once. */
const pieceBytes = 16 * 1024;

/** Whether a request has a long body, or one that comes as a stream without a length. */
export function isUpload({ body, headers }: WireRequest): boolean {
  if (body === null || body === undefined) return false;
  const length = typeof body === 'string' || ArrayBuffer.isView(body) ? body.length : Number(headers['content-length']);
  return !(length < uploadBytes);
}

/**
 * The request with a body that undici writes piece by piece, as the server takes it. Node counts what it has queued for a session,
 * and refuses every response on it from 10 MB on (`maxSessionMemory`); a text or a buffer would be queued as a whole.
 */
export function inPieces(request: WireRequest): WireRequest {
  const { headers } = request;
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body;
  if (ArrayBuffer.isView(body)) {
    const length = String(body.byteLength);
    // undici refuses a wrong length.
    if ((headers['content-length'] ?? length) !== length) return request;
    return { ...request, headers: { ...headers, 'content-length': length }, body: asBody(pieces([body])) };
  }
  if (typeof body === 'object' && body !== null && Symbol.asyncIterator in body)
    return { ...request, body: asBody(pieces(body as unknown as AsyncIterable<Uint8Array>)) }; // of `ReplayableBody`
  return request;
}

async function* pieces(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks)
    for (let i = 0; i < chunk.byteLength; i += pieceBytes) yield chunk.subarray(i, i + pieceBytes);
}

function asBody(iterable: AsyncIterable<Uint8Array>): NonNullable<WireRequest['body']> {
  return iterable as unknown as NonNullable<WireRequest['body']>; // undici takes any async iterable; its types name only some of them
}
