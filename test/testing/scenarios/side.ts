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

export class Side {
  readonly name: string;
  readonly #url: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

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
    const parsed = /[?&]watch=/.test(path) && response.statusCode === 200 ? linesOf(text) : parse(text, found);
    return { code: response.statusCode, body: parsed };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
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

/** A FakeCluster whose side may do everything. */
export async function startFake() {
  const cluster = await FakeCluster.start({
    tokens: { admin: { username: 'admin', groups: ['system:masters'] } },
  });
  const side = new Side('FakeCluster', cluster.url, agentFor(cluster.certificateAuthority.certificate), {
    authorization: 'Bearer admin',
  });
  return {
    cluster,
    side,
    [Symbol.asyncDispose]: async () => {
      await side.close();
      await cluster.close();
    },
  };
}
