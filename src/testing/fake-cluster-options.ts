/** What a FakeCluster is started with, and what it tells of itself. */
import type { User } from './api/users.ts';
import { checkFields, type Kind } from './check-fields.ts';
import type { TestObject } from './objects.ts';

export interface FakeClusterOptions {
  /** Shown in /version. Default: `fake`. */
  readonly name?: string;
  /** Accepted bearer tokens, each with the user (or only the user's name) that it stands for. Default: none. */
  readonly tokens?: Tokens;
  /** The API is served below this path only, as behind a gateway: `/v1/projects/1`. Default: none. */
  readonly pathPrefix?: string;
  /** Offer HTTP/2. Default: true. */
  readonly http2?: boolean;
  /** Names in the server's certificate beside `localhost`, `127.0.0.1` and `::1`. */
  readonly serverNames?: readonly string[];
  /** Serve plain HTTP. Default: false. */
  readonly insecureHttp?: boolean;
  /** Default: `default`, `kube-system`. */
  readonly namespaces?: readonly string[];
  /** CustomResourceDefinitions that are there from the start, beside, or instead of, those of ClusterProfile and PlacementDecision. */
  readonly customResourceDefinitions?: readonly TestObject[];
  /** How many changes of each resource are kept, for watches and lists that ask for an older version. Default: 32,768. */
  readonly history?: number;
  /** Milliseconds since 1970, for timestamps and the life of tokens. Default: `Date.now`. */
  readonly clock?: () => number;
}

export type Tokens = Readonly<Record<string, string | User>>;

/** What a cluster has seen. */
export interface FakeClusterStats {
  /** TCP connections accepted so far. */
  readonly connections: number;
  readonly openConnections: number;
  readonly requests: number;
  /** Requests answered with 401 because of their credential. */
  readonly unauthorized: number;
  /** Authenticated requests by user name. */
  readonly byIdentity: ReadonlyMap<string, number>;
}

/** A request, as the server got it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whose it was; `undefined` where the credential was refused. */
  readonly identity: string | undefined;
}

const optionKinds: { readonly [Name in keyof Required<FakeClusterOptions>]: Kind } = {
  name: 'a text',
  tokens: 'an object',
  pathPrefix: 'a text',
  http2: 'true or false',
  serverNames: 'a list of texts',
  insecureHttp: 'true or false',
  namespaces: 'a list of texts',
  customResourceDefinitions: 'a list',
  history: 'a number',
  clock: 'a function',
};

/** Throws for what is no option. */
export function checkOptions(options: FakeClusterOptions): void {
  checkFields('FakeCluster.start', options, optionKinds);
  const { history = 1 } = options;
  if (!Number.isSafeInteger(history) || history < 1) {
    throw new RangeError(`history must be a whole number from 1 on, not ${String(history)}`);
  }
}

export function usersOf(tokens: Tokens): ReadonlyMap<string, User> {
  const users = Object.entries(tokens).map(
    ([token, user]) => [token, typeof user === 'string' ? { username: user } : user] as const,
  );
  return new Map(users);
}
