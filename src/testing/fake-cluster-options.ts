/** The options of a FakeCluster, and its statistics. */
import type { User } from './api/users.ts';
import type { TestObject } from './objects.ts';

/** Options of `FakeCluster.start`. All may be left out. */
export interface FakeClusterOptions {
  /**
   * Shown in /version.
   * @default `fake`
   */
  readonly name?: string;
  /**
   * Accepted bearer tokens, each with its user, or only the user's name.
   * @default none
   */
  readonly tokens?: Tokens;
  /**
   * The API is served below this path only, as behind a gateway: `/v1/projects/1`.
   * @default none
   */
  readonly pathPrefix?: string;
  /**
   * Offer HTTP/2.
   * @default true
   */
  readonly http2?: boolean;
  /** Names in the server's certificate besides `localhost`, `127.0.0.1` and `::1`. */
  readonly serverNames?: readonly string[];
  /**
   * Serve plain HTTP.
   * @default false
   */
  readonly insecureHttp?: boolean;
  /** CustomResourceDefinitions from the start, besides those of ClusterProfile and PlacementDecision, or instead of them. */
  readonly customResourceDefinitions?: readonly TestObject[];
  /**
   * How many changes of each resource are kept for watches and lists at an older version.
   * @default 32,768
   */
  readonly history?: number;
  /**
   * Milliseconds since 1970, for timestamps and the life of tokens.
   * @default `Date.now`
   */
  readonly clock?: () => number;
}

/** Bearer tokens, each with its user or the name of one. */
export type Tokens = Readonly<Record<string, string | User>>;

/** Counts of connections and requests. */
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

/** A request as the server received it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The user; `undefined` if the credential was refused. */
  readonly identity: string | undefined;
}

export function usersOf(tokens: Tokens): ReadonlyMap<string, User> {
  const users = Object.entries(tokens).map(
    ([token, user]) => [token, typeof user === 'string' ? { username: user } : user] as const,
  );
  return new Map(users);
}
