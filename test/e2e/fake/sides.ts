// The two servers of the conformance run: each is sent the same, and what it answers is brought into one form.
import { Agent, request } from 'undici';
import { isList, isObject, type Json, type JsonObject } from '../../../src/testing/api/json.ts';

/** A request, once its references to earlier answers have been resolved. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: Json | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly code: number;
  readonly type: string;
  readonly retryAfter: string | undefined;
  /** Parsed JSON; the events of a watch; or text. */
  readonly body: Json;
}

export class Side {
  readonly name: string;
  readonly #url: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;
  /** What was answered so far, step by step. */
  readonly answers: Json[] = [];
  /** Names for what differs between the servers, in the order in which each was seen. */
  readonly #names = { version: new Map<string, string>(), uid: new Map<string, string>() };

  constructor(name: string, url: string, agent: Agent, headers: Readonly<Record<string, string>>) {
    this.name = name;
    this.#url = url;
    this.#agent = agent;
    this.#headers = headers;
  }

  async send({ method, path, body, headers }: Sent): Promise<Answer> {
    const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' };
    const response = await request(`${this.#url}${path}`, {
      method: method as 'GET', // any method: some are wrong on purpose
      dispatcher: this.#agent,
      headers: { ...this.#headers, ...(body === undefined ? {} : type), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    const found = String(response.headers['content-type'] ?? '').split(';')[0] ?? '';
    const retryAfter = response.headers['retry-after'];
    const parsed = /[?&]watch=/.test(path) && response.statusCode === 200 ? linesOf(text) : parse(text, found);
    return {
      code: response.statusCode,
      type: found,
      retryAfter: retryAfter === undefined ? undefined : String(retryAfter),
      body: parsed,
    };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /** An answer without what has to differ: times, and versions and UIDs but for which are the same. */
  normalized({ code, type, retryAfter, body }: Answer): Json {
    return { code, type, ...(retryAfter === undefined ? {} : { retryAfter }), body: this.#normal(body) };
  }

  #normal(value: Json): Json {
    if (isList(value)) return value.filter((element) => !isPeriodic(element)).map((element) => this.#normal(element));
    if (!isObject(value)) return value;
    const { kind, status, type, metadata, items, object } = value;
    const refused = kind === 'Status' && status === 'Failure';
    if (type === 'BOOKMARK' && isObject(object)) {
      // The rest of the object is what its kind has if nothing is set.
      const { kind: of = '', apiVersion = '' } = object;
      return { type, object: { kind: of, apiVersion, metadata: this.#listMeta(object.metadata) } };
    }
    const result: Record<string, Json> = {};
    // Sorted: names are given in the order in which they are met, and the servers write their fields in different orders.
    for (const [field, inner = null] of Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (ignored.has(field) || inner === null || (field === 'details' && isObject(inner) && isEmpty(inner))) continue;
      result[field] = refused ? this.#refusal(field, inner, value) : this.#field(field, inner);
    }
    if (isList(items)) result.metadata = this.#listMeta(metadata);
    return result;
  }

  #field(field: string, value: Json): Json {
    if (field === 'metadata' && isObject(value) && typeof value.name !== 'string') return {};
    if (typeof value !== 'string') return this.#normal(value);
    if (field === 'resourceVersion') return this.#name('version', value);
    if (field === 'uid') return this.#name('uid', value);
    if (/(Timestamp|Time)$/.test(field)) return '<time>';
    return field === 'token' ? '<token>' : value;
  }

  /** The version of a list is that of the whole server, which has other writers. */
  #listMeta(given: Json | undefined): JsonObject {
    const metadata = isObject(given) ? given : {};
    const { annotations } = metadata;
    return {
      ...(typeof metadata.resourceVersion === 'string' ? { resourceVersion: '<version>' } : {}),
      ...(typeof metadata.continue === 'string' && metadata.continue !== ''
        ? { continue: continuation(metadata.continue) }
        : {}),
      ...(annotations === undefined ? {} : { annotations }),
    };
  }

  /** What is wrong is for people, and in words of our own, where a field or a request is invalid; the reason is for programs. */
  #refusal(field: string, value: Json, { code }: JsonObject): Json {
    const message = String(value);
    // A real server also says how the rest of an expired list can be had.
    const isExpiredPage = message.startsWith('The provided continue parameter is too old');
    if (field === 'message') return ownWords.has(Number(code)) || isExpiredPage ? '<words>' : masked(message);
    if (field === 'metadata') return {};
    if (field !== 'details' || !isObject(value)) return value;
    const causes = isList(value.causes)
      ? value.causes.filter(isObject).filter(({ field: at }) => at !== '<nil>')
      : undefined;
    const named =
      causes && [...new Set(causes.map(({ reason = '', field: at = '' }) => `${String(reason)} ${String(at)}`))].sort();
    const { uid: _, causes: __, ...rest } = value;
    return { ...rest, ...(named ? { causes: named } : {}) };
  }

  #name(kind: 'version' | 'uid', value: string): string {
    const names = this.#names[kind];
    const name = names.get(value) ?? `<${kind} ${names.size + 1}>`;
    names.set(value, name);
    return name;
  }
}

/** What a client has got wrong. */
const ownWords = new Set([400, 406, 415, 422]);

/** A bookmark that comes when it comes; the one that ends the initial events has its place. */
const isPeriodic = (event: Json) =>
  isObject(event) &&
  event.type === 'BOOKMARK' &&
  isObject(event.object) &&
  isObject(event.object.metadata) &&
  event.object.metadata.annotations === undefined;

/** Who owns which field has its own test; when and by whom is the servers' own affair. */
const ignored = new Set(['managedFields', 'storageVersionHash', 'selfLink']);

const isEmpty = (object: JsonObject) => Object.keys(object).length === 0;

const masked = (message: string) =>
  message
    .replace(/StorageError: .*AdditionalErrorMsg: /, '')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>')
    .replace(/\b\d+\b/g, '<n>');

/** Where a list goes on; a token is nobody's business but its server's. */
function continuation(token: string): Json {
  const { start } = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  return String(start).replace(/^\//, '');
}

function parse(text: string, type: string): Json {
  return type === 'application/json' && text !== '' ? JSON.parse(text) : text;
}

const linesOf = (text: string): Json =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** A client that is verified by nobody but the server's own authority. */
export const agentFor = (ca: string, client: { readonly cert?: string; readonly key?: string } = {}) =>
  new Agent({ connect: { ca, ...client } });
