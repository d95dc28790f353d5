/** Requests and answers of either version of HTTP: bodies that are read, objects that are sent, and in which form. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import type { Json } from './json.ts';
import { ApiError, badRequest, notImplemented, PageNotFound, unsupportedMediaType } from './status.ts';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** Kubernetes itself compresses what is larger. */
const gzipFrom = 128 * 1024;
const longestBody = 3 * 1024 * 1024;

/** The whole body; throws a 413 once it is too long. */
export async function readBody(request: Request): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= longestBody) chunks.push(chunk);
  }
  if (size <= longestBody) return Buffer.concat(chunks);
  throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${longestBody}`);
}

const json = 'application/json';
const yaml = 'application/yaml';
const protobuf = 'application/vnd.kubernetes.protobuf';

/** `application/json; charset=utf-8` without its parameters. */
export const mediaTypeOf = (request: Request) => (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';

/** The value in a body of JSON or YAML. Throws a 400, 415 or 501. */
export function parseBody(body: Buffer, mediaType: string): Json {
  if (mediaType === protobuf || mediaType === 'application/cbor') throw notImplemented(`bodies in ${mediaType}`);
  if (mediaType !== '' && mediaType !== json && mediaType !== yaml) throw unsupportedMediaType([json, yaml, protobuf]);
  return mediaType === yaml ? parseYaml(body) : parseJson(body);
}

export function parseJson(body: Buffer): Json {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw badRequest(`the body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
}

export function parseYaml(body: Buffer): Json {
  try {
    return parse(body.toString('utf8'), { version: '1.1', merge: true, schema: 'core' });
  } catch (error) {
    throw badRequest(`error decoding YAML: ${error instanceof Error ? error.message : ''}`);
  }
}

export function sendJson(request: Request, response: Response, code: number, body: object): void {
  const text = Buffer.from(JSON.stringify(body));
  response.statusCode = code;
  response.setHeader('content-type', json);
  response.setHeader('cache-control', 'no-cache, private');
  if (text.length < gzipFrom || !acceptsGzip(request)) {
    response.end(text);
    return;
  }
  response.setHeader('content-encoding', 'gzip');
  response.end(gzipSync(text));
}

const acceptsGzip = (request: Request) =>
  /\bgzip\b(?!;q=0(?:[,;]|$))/.test(String(request.headers['accept-encoding'] ?? ''));

export function sendText(response: Response, code: number, text: string): void {
  response.statusCode = code;
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(text);
}

export function sendError(request: Request, response: Response, error: ApiError): void {
  if (error instanceof PageNotFound) return sendText(response, error.code, error.message);
  const seconds = error.details?.retryAfterSeconds;
  if (seconds !== undefined) response.setHeader('retry-after', String(seconds));
  sendJson(request, response, error.code, error.toStatus());
}

/** Writes to a stream that goes on. Says whether there is room for more. */
export function writeTo(response: Response, text: string): boolean {
  // The two kinds of response differ in their overloads, not in what they do with text.
  return 'stream' in response ? response.write(text) : response.write(text);
}
