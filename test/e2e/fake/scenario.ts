// What the scenarios are made of: requests that both servers get.
import type { Json, JsonObject } from '../../../src/testing/api/json.ts';
import type { Sent } from './sides.ts';

/** What of an answer is compared. */
export type Pick = (body: Json) => Json | undefined;

export const namespace = 'scenarios';
export const inside = `/api/v1/namespaces/${namespace}`;
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

/** Sends the same to both, and compares. */
export type Step = (sent: Sent, pick?: Pick) => Promise<void>;
