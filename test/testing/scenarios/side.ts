// One of the servers that the scenarios are sent to.
import { Agent, request } from 'undici';
import type { Json } from '../../../src/testing/api/json.ts';
import { FakeCluster } from '../../../src/testing/index.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: Json | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly code: number;
  /** Parsed JSON; the events of a watch; or text. */
  readonly body: Json;
}

export interface Side {
  send(sent: Sent): Promise<Answer>;
  close(): Promise<void>;
}

/** A server and a client of it, which is verified by nobody but the server's own authority. */
export function sideAt(
  url: string,
  client: { readonly ca: string; readonly cert?: string; readonly key?: string },
  identity: Readonly<Record<string, string>> = {},
): Side {
  const dispatcher = new Agent({ connect: client });
  return {
    close: () => dispatcher.close(),
    send: async ({ method, path, body, headers }) => {
      const type = typeof body === 'string' ? {} : { 'content-type': 'application/json' };
      const response = await request(`${url}${path}`, {
        method: method as 'GET', // any method: some are wrong on purpose
        dispatcher,
        headers: { ...identity, ...(body === undefined ? {} : type), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.body.text();
      const found = String(response.headers['content-type'] ?? '').split(';')[0] ?? '';
      const parsed = /[?&]watch=/.test(path) && response.statusCode === 200 ? linesOf(text) : parse(text, found);
      return { code: response.statusCode, body: parsed };
    },
  };
}

function parse(text: string, type: string): Json {
  return type === 'application/json' && text !== '' ? JSON.parse(text) : text;
}

const linesOf = (text: string): Json =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** A FakeCluster whose side may do everything. */
export async function startFake() {
  const cluster = await FakeCluster.start({
    tokens: { admin: { username: 'admin', groups: ['system:masters'] } },
  });
  const ca = cluster.certificateAuthority.certificate;
  const side = sideAt(cluster.url, { ca }, { authorization: 'Bearer admin' });
  return {
    side,
    [Symbol.asyncDispose]: async () => {
      await side.close();
      await cluster.close();
    },
  };
}
