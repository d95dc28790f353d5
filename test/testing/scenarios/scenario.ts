// What the scenarios are made of: requests that both servers get.
import { isList, isObject, type Json, type JsonObject, valueAt } from '../../../src/testing/api/json.ts';
import type { Answer, Sent } from './side.ts';

/** What of an answer is compared. */
export type Pick = (body: Json) => Json | undefined;

export const namespace = 'scenarios';
export const inside = `/api/v1/namespaces/${namespace}`;
export const maps = `${inside}/configmaps`;
/** A ConfigMap of that namespace. */
export const map = (name: string, more: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  ...more,
});
export const post = (path: string, body: JsonObject): Sent => ({ method: 'POST', path, body });
export const get = (path: string): Sent => ({ method: 'GET', path });
export const remove = (path: string, body?: JsonObject): Sent => ({
  method: 'DELETE',
  path,
  ...(body ? { body } : {}),
});
export const merge = (path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Sent => ({
  method: 'PATCH',
  path,
  body,
  headers: { 'content-type': 'application/merge-patch+json', ...headers },
});
export const apply = (path: string, body: JsonObject): Sent => ({
  ...merge(path, body),
  headers: { 'content-type': 'application/apply-patch+yaml' },
});

export const put = (path: string, body: JsonObject): Sent => ({ method: 'PUT', path, body });

export const at =
  (...path: readonly string[]): Pick =>
  (body) =>
    valueAt(body, path);

/** Only the `Status` of a refusal, which is compared for every step. */
export const nothing: Pick = () => null;

/** What a `Status` says, but for its message: reason, object, and the causes with their fields. */
function statusOf(body: Json): Json {
  if (!isObject(body) || body.kind !== 'Status') return null;
  const { status = null, code = null, reason = null, details } = body;
  const { name = null, group = null, kind = null, causes = [] } = isObject(details) ? details : {};
  const why = (isList(causes) ? causes : []).map((one) => `${valueAt(one, ['field'])} ${valueAt(one, ['reason'])}`);
  return [status, code, reason, name, group, kind, ...[...new Set(why)].sort()];
}

/** The names in a list and where it ends; the types and names of a watch's events. */
export const listed: Pick = (body) => {
  if (isList(body))
    return body
      .filter((event) => valueAt(event, ['type']) !== 'BOOKMARK')
      .map((event) => [valueAt(event, ['type']) ?? null, valueAt(event, ['object', 'metadata', 'name']) ?? null]);
  const items = valueAt(body, ['items']);
  const names = (isList(items) ? items : []).map((item) => valueAt(item, ['metadata', 'name']) ?? null);
  return [names, valueAt(body, ['metadata', 'remainingItemCount']) ?? null, valueAt(body, ['reason']) ?? null];
};

/**
 * Sends a request, and compares what is picked of its answer. A request may be made of the answers before it, the last one
 * last; what differs from server to server, such as a version, is picked by `compare` with the answer before it.
 */
export type Step = (
  sent: Sent | ((answers: readonly Json[]) => Sent),
  pick?: Pick,
  compare?: (picked: Json | undefined, before: Json | undefined) => Json,
) => Promise<void>;

/** What was sent, in a line, and what came. */
export interface Told {
  readonly sent: string;
  readonly code: number;
  /** Of a `Status`; `null` for an object. */
  readonly status: Json;
  readonly picked: Json;
}

/** One server's side of the scenarios. */
export class Teller {
  readonly #send: (sent: Sent) => Promise<Answer>;
  #answers: readonly Json[] = [];

  constructor(send: (sent: Sent) => Promise<Answer>) {
    this.#send = send;
  }

  /** Sends a step's request; `isRepeated` if it was sent before, and the answer was not yet the one that is waited for. */
  async tell([sent, pick = nothing, compare]: Parameters<Step>, isRepeated = false): Promise<Told> {
    if (isRepeated) this.#answers = this.#answers.slice(0, -1);
    const request = typeof sent === 'function' ? sent(this.#answers) : sent;
    const { code, body } = await this.#send(request);
    const found = pick(body);
    const picked = (compare ? compare(found, this.#answers.at(-1)) : found) ?? null;
    this.#answers = [...this.#answers, body];
    const path = request.path.replace(/(continue|resourceVersion)=[^&]+/g, '$1=...');
    return { sent: `${request.method} ${path}`, code, status: statusOf(body), picked };
  }
}
