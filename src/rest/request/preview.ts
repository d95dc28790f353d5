/**
 * The layer of a preview, outside of all others: every write is sent as a dry run, and what it would have changed is collected. What has no
 * dry run is refused.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Dispatcher } from 'undici';
import { RequestError } from '../../errors/index.ts';
import { isObject, tryParseJson } from '../../util/guards.ts';
import { cannotBeSent } from '../transport/connection-errors.ts';
import { type HeaderRecord, readHeaders, requestName, withoutQuery } from '../transport/wire-request.ts';
import { type Layer, type OutgoingRequest, Relay, RelayedRequest, type RequestOwner, type Send } from './layer.ts';
import { type ApiPath, readApiPath } from './paths.ts';
import { changesBetween, type Preview } from './previewed-writes.ts';
import { ReplayableBody } from './replayable-body.ts';
import { readAnswer, stream } from './response.ts';

/** Subresources through which anything can be done. */
const withoutDryRun: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy', 'token']);

/** Not reported: the bookkeeping of controllers, and objects that are created to ask a question. */
const silent = /^(?:events|leases|tokenreviews|(?:local|self)?subject(?:access|rules)reviews|selfsubjectreviews)$/;

/** Bytes of an answer, and of the options of a delete, that are read. */
const mostBytes = 8 * 1024 * 1024;

export const previewWrites: Layer = (request, handler, next) => {
  const { options, owner } = request;
  const { preview, basePath } = owner;
  if (!preview) {
    next(request, handler);
    return;
  }
  const path = readApiPath(String(options.path), basePath);
  const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(options.method);
  const refused = whyRefused(options, path, isRead);
  if (refused !== undefined) Relay.refuse(handler, previewRefusal(owner, refused));
  else if (isRead || !path) next(request, handler);
  else new PreviewedRequest(request, handler, { preview, path, next }).begin();
};

/** Why a config of a preview does not do something. */
function previewRefusal({ cluster }: Pick<RequestOwner, 'cluster'>, what: string): RequestError {
  const message = `this config is a preview, which changes nothing: ${what}. Get a config without preview for that`;
  return new RequestError('PREVIEW_REFUSED', message).of(cluster);
}

/** For what would leave the layers of a request. @throws {RequestError} `PREVIEW_REFUSED` */
export function refuseInPreview(config: Pick<RequestOwner, 'cluster' | 'preview'>, what: string): void {
  if (config.preview) throw previewRefusal(config, what);
}

function whyRefused(
  options: Dispatcher.DispatchOptions,
  path: ApiPath | undefined,
  isRead: boolean,
): string | undefined {
  const name = requestName(options);
  if (path?.subresource !== undefined && withoutDryRun.has(path.subresource))
    return `${name} was refused, since ${path.subresource} has no dry run`;
  if (!path && !isRead) return `${name} was refused, since only objects of the API have a dry run`;
  return undefined;
}

interface Parts {
  readonly preview: Preview;
  readonly path: ApiPath;
  readonly next: Send;
}

class PreviewedRequest extends RelayedRequest {
  readonly #parts: Parts;
  #before: object | 'none' | undefined;
  /** Of the read of the object. */
  readonly #reading = new AbortController();
  /** The answer, as far as it is JSON of a success. */
  #chunks: Buffer[] | undefined;
  #size = 0;

  constructor(request: OutgoingRequest, handler: Dispatcher.DispatchHandler, parts: Parts) {
    super(request, handler);
    this.#parts = parts;
  }

  begin(): void {
    this.start();
    this.#send();
  }

  async #send(): Promise<void> {
    try {
      const dryRun = await this.#asDryRun();
      this.#before = await this.#read();
      if (!this.done) this.#parts.next(dryRun, this);
    } catch (error) {
      this.fail(cannotBeSent(error, this.request.owner.cluster));
    }
  }

  /** The same request as a dry run. A server that is given a body with a delete reads that, and not the query. */
  async #asDryRun(): Promise<OutgoingRequest> {
    const { request } = this;
    const { options } = request;
    // The answer is read here.
    const headers: HeaderRecord = { ...readHeaders(options.headers), 'accept-encoding': 'identity' };
    const path = `${options.path}${String(options.path).includes('?') ? '&' : '?'}dryRun=All`;
    const dryRun = { ...options, path, headers };
    const text = options.method === 'DELETE' ? await textOf(request.body.next()) : '';
    if (text === '') return { ...request, options: dryRun };
    const given = objectIn(text);
    if (!given) {
      const what = 'the options of a delete have to be JSON, so that they can be made a dry run';
      throw previewRefusal(request.owner, what);
    }
    const body = JSON.stringify({ ...given, dryRun: ['All'] });
    delete headers['content-length'];
    return { ...request, options: { ...dryRun, body }, body: new ReplayableBody(body, this) };
  }

  /** The object as it is now; `none` if it does not exist, `undefined` if that is not known. */
  async #read(): Promise<object | 'none' | undefined> {
    const { next, path } = this.#parts;
    const { options, owner } = this.request;
    if (path.name === undefined) return options.method === 'POST' ? 'none' : undefined;
    const isComparable = [undefined, 'status', 'scale'].includes(path.subresource);
    if (options.method === 'DELETE' || !isComparable) return undefined;
    const { 'content-type': _type, 'content-length': _length, ...headers } = readHeaders(options.headers);
    const read: Dispatcher.DispatchOptions = {
      ...options,
      method: 'GET',
      body: null,
      path: withoutQuery(options.path).replace(path.subresource === 'status' ? /\/status\/?$/ : /$^/, ''),
      headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity' },
    };
    const body = new ReplayableBody(null, this);
    const reading = { ...this.request, options: read, body, sent: 1 };
    try {
      const response = await stream((handler) => next(reading, handler), this.#reading.signal);
      const answer = await readAnswer(response, mostBytes, owner.cluster);
      if (answer.statusCode === 404) return 'none';
      return answer.statusCode === 200 ? objectIn(answer.body.toString()) : undefined;
    } catch {
      return undefined;
    }
  }

  protected override respond(statusCode: number, headers: IncomingHttpHeaders, message: string | undefined): void {
    const isJson = String(headers['content-type']).startsWith('application/json') && !headers['content-encoding'];
    if (statusCode >= 200 && statusCode < 300) {
      if (isJson) this.#chunks = [];
      else this.#tell(undefined);
    }
    super.respond(statusCode, headers, message);
  }

  protected override data(chunk: Buffer): void {
    this.#size += chunk.length;
    // undici may use the memory again.
    if (this.#size <= mostBytes) this.#chunks?.push(Buffer.from(chunk));
    super.data(chunk);
  }

  protected override complete(trailers: IncomingHttpHeaders): void {
    if (this.#chunks) this.#tell(objectIn(Buffer.concat(this.#chunks).toString()));
    super.complete(trailers);
  }

  override abort(reason?: Error): void {
    this.#reading.abort(reason);
    super.abort(reason);
  }

  /** Collects what would have changed. */
  #tell(answer: object | undefined): void {
    const { preview, path } = this.#parts;
    const { options, owner } = this.request;
    if (silent.test(path.resource)) return;
    const { method } = options;
    const { kind, metadata, items } = Object(answer) as KubernetesAnswer; // an API server's own
    // A delete is answered with a Status, or with the object, and that of a collection with its objects.
    const after = kind === 'Status' ? undefined : answer;
    const isNew = this.#before === 'none';
    const verb = method === 'DELETE' ? 'delete' : isNew ? 'create' : 'update';
    const canCompare = after && this.#before !== undefined;
    const prefix = isNew ? metadata?.generateName : undefined;
    const named = { ...after, metadata: { ...metadata, ...(prefix === undefined ? {} : { name: `${prefix}*` }) } };
    const before = this.#before === 'none' ? undefined : this.#before;
    const name = prefix === undefined ? (path.name ?? metadata?.name) : `${prefix}*`;
    const object = [path.namespace ?? metadata?.namespace, name].filter(Boolean).join('/');
    const line = preview.add({
      cluster: owner.cluster.profile ?? owner.cluster.name,
      verb,
      path: withoutQuery(options.path),
      kind: (after && kind?.replace(/List$/, '')) ?? path.resource,
      object: path.name === undefined && items ? `${object} (${items.length} of them)`.trim() : object,
      changes: verb === 'delete' ? [] : canCompare ? changesBetween(before, named) : undefined,
    });
    if (line !== undefined)
      owner.log.previewed(path.subresource === undefined ? line : `${line} (${path.subresource})`, preview.logger);
  }
}

interface KubernetesAnswer {
  readonly kind?: string;
  readonly metadata?: { readonly namespace?: string; readonly name?: string; readonly generateName?: string };
  readonly items?: readonly unknown[];
}

function objectIn(json: string): object | undefined {
  const value = tryParseJson(json);
  return isObject(value) ? value : undefined;
}

async function textOf(body: Dispatcher.DispatchOptions['body']): Promise<string> {
  if (body === null || body === undefined) return '';
  const isWhole = typeof body === 'string' || body instanceof Uint8Array;
  // What ReplayableBody makes of a stream.
  return text(isWhole ? Readable.from([body]) : (body as AsyncIterable<Uint8Array | string>));
}
