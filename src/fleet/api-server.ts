/** One API server: any KubeConfig comes in, answers to requests go out, whose bodies are read as they come. */
import type { IncomingHttpHeaders } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Dispatcher, request } from 'undici';
import { abortable } from '../abortable.ts';
import { FleetError } from '../errors.ts';
import { redactBeginning } from '../redaction/redact.ts';
import { packingOf } from '../rest/packing.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import { readStatus, type Shown } from './api-status.ts';
import type { Clock } from './clock.ts';
import { connectionsOf } from './shared-connections.ts';
import { type StreamedAnswer, stream } from './streamed-answer.ts';

export interface GetOptions {
  /** Gives up, whatever has come. */
  readonly signal: AbortSignal;
  /** Take a compressed answer. Default: false. */
  readonly gzip?: boolean;
}

/** What is needed of a KubeConfig. `dispatcher` is there in ours. */
export interface ApiServerConfig extends Pick<KubeConfig, 'applySecurityAuthentication'> {
  getCurrentCluster(): { readonly server: string } | null;
  readonly dispatcher?: unknown;
}

export type ApiResponse = Dispatcher.ResponseData;

/** What every request has. */
type RequestOptions = Omit<Dispatcher.DispatchOptions, 'origin' | 'path'> & { readonly dispatcher?: Dispatcher };

/** Milliseconds until an API server has to begin its answer, and goes on with a list. It gives up after 60 s itself. */
export const answerTimeoutMs = 60_000;

export class ApiServer {
  readonly url: string;
  readonly #config: ApiServerConfig;
  /** What another config's requests have been sent with. */
  #secrets: readonly string[] = [];

  constructor(config: ApiServerConfig) {
    this.#config = config;
    this.url = (config.getCurrentCluster()?.server ?? '').replace(/\/+$/, '');
  }

  /** The answer, whatever its status. `path` begins with a slash. */
  get(path: string, { signal, gzip = false }: GetOptions): Promise<ApiResponse> {
    return this.#request('GET', path, signal, gzip ? { 'accept-encoding': 'gzip' } : {});
  }

  /** The beginning of the answer, whatever its status. Its body is read as it comes: for watches. */
  stream(path: string, signal: AbortSignal): Promise<StreamedAnswer> {
    return this.#send('GET', path, signal, {}, (url, options) => stream(url, options, signal));
  }

  /** Sends an object as JSON. The answer, whatever its status. */
  send(method: 'POST' | 'PUT' | 'DELETE', path: string, object: object, signal: AbortSignal): Promise<ApiResponse> {
    return this.#request(method, path, signal, { 'content-type': 'application/json' }, JSON.stringify(object));
  }

  /** What may be shown of a text of this server: its first `length` characters, without the credential that it was sent. */
  readonly shown: Shown = (text, length, options) => {
    const own = this.#config.dispatcher;
    return own instanceof AuthenticatedDispatcher
      ? own.shown(text, length, options)
      : redactBeginning(text, length, this.#secrets, options);
  };

  /** What a `Status` says, or the beginning of whatever else a refusal has for a body. */
  async refusalOf({ statusCode, headers, body }: Refusal, what: string): Promise<FleetError> {
    const bytes = await bytesOf(body, mostOfRefusal).catch(() => Buffer.of());
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

  #request(
    method: Dispatcher.HttpMethod,
    path: string,
    signal: AbortSignal,
    more: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<ApiResponse> {
    const content = body === undefined ? {} : { body };
    return this.#send(method, path, signal, more, (url, options) => request(url, { ...options, ...content, signal }));
  }

  async #send<T>(
    method: Dispatcher.HttpMethod,
    path: string,
    signal: AbortSignal,
    more: Readonly<Record<string, string>>,
    send: (url: string, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const url = `${this.url}${path}`;
    const { dispatcher, headers } = await this.#credential(url, method, signal);
    try {
      const options: RequestOptions = {
        method,
        headers: { accept: 'application/json', ...more, ...headers },
        ...(dispatcher ? { dispatcher } : {}),
        // A quiet watch is not a dead one; whoever reads a list has limits of its own.
        bodyTimeout: 0,
        headersTimeout: answerTimeoutMs,
      };
      // A dispatcher of somebody else may not begin for long. What it answers later ends by the signal too.
      return await abortable(() => send(url, options), signal);
    } catch (error) {
      if (dispatcher && headers) connectionsOf(this.#config).failed(dispatcher);
      throw error;
    }
  }

  /** The credential, or the signal's reason if that comes first: a plugin, or an identity provider, may never answer. */
  async #credential(url: string, method: string, signal: AbortSignal) {
    try {
      return await abortable(() => this.#authenticate(url, method), signal);
    } catch (error) {
      if (!isTimeout(error) || error !== signal.reason) throw error;
      const advice = 'look at the plugin or the identity provider of its user';
      throw new FleetError('API_TIMEOUT', `${error.message}: ${hanging} has not ended: ${advice}`, { cause: error });
    }
  }

  /** Ours puts its credential on by itself; client-node's is asked for each request, since it may have a new one. */
  async #authenticate(
    url: string,
    method: string,
  ): Promise<{ dispatcher?: Dispatcher; headers?: Record<string, string> }> {
    const own = this.#config.dispatcher;
    if (own instanceof AuthenticatedDispatcher) return { dispatcher: own };
    const { HttpMethod, RequestContext } = await import('@kubernetes/client-node');
    const context = new RequestContext(url, method as typeof HttpMethod.GET); // its values are the methods' names
    const dispatcher = await connectionsOf(this.#config).authenticate(context);
    const headers = context.getHeaders();
    this.#secrets = Object.entries(headers).flatMap(([name, value]) =>
      /^authorization$/i.test(name) ? [value.replace(/^\S+\s+/, '')] : [],
    );
    return { headers, ...(dispatcher ? { dispatcher } : {}) };
  }
}

/** What gets the credential of a KubeConfig. */
const hanging = 'applySecurityAuthentication of its KubeConfig';

function isTimeout(error: unknown): error is FleetError {
  return error instanceof FleetError && error.code === 'API_TIMEOUT';
}

/** Bytes that are read of an answer that is no success. */
const mostOfRefusal = 16_384;

/** An answer that is no success. */
interface Refusal extends Pick<ApiResponse, 'statusCode' | 'headers'> {
  readonly body: AsyncIterable<Buffer>;
}

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

/** A whole body as text, up to a limit in bytes; the rest is thrown away. */
export async function textOf(body: AsyncIterable<Buffer>, limit: number): Promise<string> {
  return (await bytesOf(body, limit)).toString();
}

async function bytesOf(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) break;
  }
  return Buffer.concat(chunks).subarray(0, limit);
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
