/** Requests and responses of either version of HTTP: what a URL names, bodies that are read, objects that are sent, and in which form. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { isList, isObject, type Json, type JsonObject } from './json.ts';
import { ApiError, badRequest, notImplemented, PageNotFound, unsupportedMediaType } from './status.ts';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** Kubernetes itself compresses larger bodies. */
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

/** Writes to a stream that stays open. Returns whether there is room for more. */
export function writeTo(response: Response, text: string): boolean {
  // The two kinds of response differ in their overloads, not in what they do with text.
  return 'stream' in response ? response.write(text) : response.write(text);
}

export type Form = 'whole' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

const others = ['application/yaml', 'application/vnd.kubernetes.protobuf', 'application/cbor'];
const apiVersion = 'meta.k8s.io/v1';

/** What the header `Accept` asks for. Throws a 406 for a client that does not accept JSON, or a 501 for what only a real server has. */
export function formOf(request: Request): Form {
  const alternatives = String(request.headers.accept || '*/*').split(',');
  const accepted = alternatives.map((alternative) => {
    const [type = '', ...parameters] = alternative.split(';').map((text) => text.trim());
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice('as='.length);
    return { type, as, isStable: parameters.includes('g=meta.k8s.io') && parameters.includes('v=v1') };
  });
  for (const { type, as, isStable } of accepted) {
    if (![json, '*/*', 'application/*'].includes(type)) continue;
    if (as === undefined) return 'whole';
    if ((as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') && isStable) return as;
  }
  const notDone = accepted.find(({ type, as }) => others.includes(type) || as !== undefined);
  if (notDone) throw notImplemented(`answers in ${notDone.as === undefined ? notDone.type : `the form ${notDone.as}`}`);
  const message = `only the following media types are accepted: ${[json, ...others.slice(0, 2)].join(', ')}`;
  throw new ApiError(406, 'NotAcceptable', message, {});
}

/** An object or a list in this form. Throws a 406 for a list that is asked for as an object, or the other way round. */
export function inForm(form: Form, body: JsonObject): JsonObject {
  const { metadata, items, kind } = body;
  if (form === 'whole' || kind === 'Status') return body;
  if (form === 'PartialObjectMetadata' && items === undefined) return { kind: form, apiVersion, metadata };
  if (form === 'PartialObjectMetadata')
    throw notAcceptable(`you requested ${form}, but the requested object is a list`);
  if (!isList(items)) throw notAcceptable(`you requested ${form}, but the requested object is not a list`);
  const objects = items.filter(isObject).map((item) => inForm('PartialObjectMetadata', item));
  return { kind: form, apiVersion, metadata, items: objects };
}

const notAcceptable = (message: string) => new ApiError(406, 'NotAcceptable', message);

export interface Target {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** The parts of a path, decoded. Throws a 400 for a broken escape. */
export function partsOf(pathname: string): readonly string[] {
  try {
    return pathname
      .split('/')
      .filter((part) => part !== '')
      .map((part) => decodeURIComponent(part));
  } catch {
    throw badRequest(`the path ${pathname} has a broken escape`);
  }
}

/** `undefined` if the path names no resource. */
export function targetOf(parts: readonly string[]): Target | undefined {
  const [prefix, ...rest] = parts;
  if (prefix === 'api') return resourceTarget('', rest);
  if (prefix === 'apis' && rest[0] !== undefined) return resourceTarget(rest[0], rest.slice(1));
  return undefined;
}

function resourceTarget(group: string, [version, ...parts]: readonly string[]): Target | undefined {
  const [first, second, third] = parts;
  if (version === undefined || first === undefined) return undefined;
  if (first === 'watch') throw notImplemented('a watch by its path; ask for one with ?watch=true');
  // `namespaces/x/pods` names the pods of a namespace; `namespaces/x/status` is about the namespace itself.
  const within = first === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize';
  const [plural = '', name, subresource] = within ? parts.slice(2) : parts;
  return {
    group,
    version,
    plural,
    ...(within && second !== undefined ? { namespace: second } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}
