/** Requests and responses of either version of HTTP: what a URL names, bodies that are read, objects that are sent, and in which form. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { parse } from 'yaml';
import type { ResourceType } from './built-in-types.ts';
import { isList, isObject, type Json, type JsonObject } from './json.ts';
import {
  type ApiError,
  badRequest,
  cause,
  invalid,
  notImplemented,
  PageNotFound,
  unsupportedMediaType,
} from './status.ts';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

const json = 'application/json';

/** `application/json; charset=utf-8` without its parameters. */
export const mediaTypeOf = (request: Request) => (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';

export interface Content {
  readonly body: Buffer;
  readonly mediaType: string;
}

/** The value in a body. Throws a 400 or 415. */
export function parseBody({ body, mediaType }: Content): Json {
  if (mediaType !== '' && mediaType !== json) throw unsupportedMediaType([json]);
  return parseJson(body);
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

export function sendJson(response: Response, code: number, body: object): void {
  response.statusCode = code;
  response.setHeader('content-type', json);
  response.setHeader('cache-control', 'no-cache, private');
  response.end(JSON.stringify(body));
}

export function sendText(response: Response, code: number, text: string): void {
  response.statusCode = code;
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.end(text);
}

export function sendError(response: Response, error: ApiError): void {
  if (error instanceof PageNotFound) return sendText(response, error.code, error.message);
  const seconds = error.details?.retryAfterSeconds;
  if (seconds !== undefined) response.setHeader('retry-after', String(seconds));
  sendJson(response, error.code, error.toStatus());
}

/** Whether the header `Accept` asks for metadata alone. Throws a 501 for a client that accepts neither that nor JSON. */
export function wantsMetadata(request: Request): boolean {
  const accepted = String(request.headers.accept || '*/*');
  for (const alternative of accepted.split(',')) {
    const [type = '', ...parameters] = alternative.split(';').map((text) => text.trim());
    if (![json, '*/*', 'application/*'].includes(type)) continue;
    const as = parameters.find((parameter) => parameter.startsWith('as='));
    if (as === undefined) return false;
    if (as.startsWith('as=PartialObjectMetadata')) return true;
  }
  throw notImplemented(`answers in ${accepted}`);
}

/** The metadata alone of an object, or of the objects of a list. */
export function onlyMetadata(body: JsonObject): JsonObject {
  const { metadata, items, kind } = body;
  const apiVersion = 'meta.k8s.io/v1';
  if (kind === 'Status') return body;
  if (!isList(items)) return { kind: 'PartialObjectMetadata', apiVersion, metadata };
  return { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: items.filter(isObject).map(onlyMetadata) };
}

/** A flag of a query; `undefined` if it is not there. */
export const flagOf = (query: URLSearchParams, name: string) => {
  const value = query.get(name);
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false';
};

/** Whether a write, or a delete, changes nothing. Throws a 422. */
export function isDryRun(values: readonly string[]): boolean {
  const causes = values.filter((one) => one !== 'All').map((one) => cause.invalid('dryRun', one, 'must be All'));
  if (causes.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'Options' }, '', causes);
  return values.length > 0;
}

/** What the path of a URL names. */
interface Target {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** A request for a resource. */
export interface Call extends Target, Content {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly metadataOnly: boolean;
  readonly request: Request;
  readonly response: Response;
}

export interface KindCall extends Call {
  readonly type: ResourceType;
}

export interface ObjectCall extends KindCall {
  readonly name: string;
}

/** `undefined` if the path names no resource. */
export function targetOf([prefix, ...parts]: readonly string[]): Target | undefined {
  if (prefix !== 'api' && prefix !== 'apis') return undefined;
  // The core group has a prefix of its own, and no name.
  const [group = '', version, ...rest] = prefix === 'api' ? ['', ...parts] : parts;
  const [first, second, third] = rest;
  if (version === undefined || first === undefined) return undefined;
  // `namespaces/x/pods` names the pods of a namespace; `namespaces/x/status` is about the namespace itself.
  const within = first === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize';
  const [plural = '', name, subresource] = within ? rest.slice(2) : rest;
  return { group, version, plural, namespace: within ? second : undefined, name, subresource };
}
