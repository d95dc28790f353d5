/** The options of a FakeCluster, and its statistics. */
import { type Request, type Response, sendError } from './api/http.ts';
import { ApiError } from './api/status.ts';
import type { User } from './api/tokens.ts';
import type { TestObject } from './objects.ts';

/** Options of `FakeCluster.start`. All may be left out. */
export interface FakeClusterOptions {
  /**
   * Shown in /version.
   * @default `fake`
   */
  readonly name?: string | undefined;
  /**
   * Accepted bearer tokens, each with its user, or only the user's name.
   * @default none
   */
  readonly tokens?: Tokens | undefined;
  /**
   * The API is served below this path only, as behind a gateway: `/v1/projects/1`.
   * @default none
   */
  readonly pathPrefix?: string | undefined;
  /**
   * Offer HTTP/2.
   * @default true
   */
  readonly http2?: boolean | undefined;
  /** Names in the server's certificate besides `localhost`, `127.0.0.1` and `::1`. */
  readonly serverNames?: readonly string[] | undefined;
  /**
   * Serve plain HTTP.
   * @default false
   */
  readonly insecureHttp?: boolean | undefined;
  /** CustomResourceDefinitions from the start, besides those of ClusterProfile and PlacementDecision, or instead of them. */
  readonly customResourceDefinitions?: readonly TestObject[] | undefined;
  /**
   * How many changes of each resource are kept for watches and lists at an older version.
   * @default 32,768
   */
  readonly history?: number | undefined;
  /**
   * Milliseconds since 1970, for timestamps and the life of tokens.
   * @default `Date.now`
   */
  readonly clock?: (() => number) | undefined;
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

export const usersOf = (tokens: Tokens): ReadonlyMap<string, User> =>
  new Map(Object.entries(tokens).map(([token, user]) => [token, typeof user === 'string' ? { username: user } : user]));

/** How a request fails: with a status, no answer, a broken connection, or a redirect. */
export type Behaviour =
  | number
  | 'hang'
  | 'reset'
  | { readonly redirect: string }
  | {
      /** HTTP status, from 400 to 599. */
      readonly status: number;
      /**
       * The reason in the Status body.
       * @default the one that Kubernetes has for the status
       */
      readonly reason?: string;
      readonly message?: string;
      /**
       * Sent as `Retry-After`.
       * @default 1 for a 429, else none
       */
      readonly retryAfterSeconds?: number;
    };

/** Selects the requests of a behaviour. */
export type RequestFilter = (request: SeenRequest) => boolean;

export interface NextRequests {
  readonly behaviour: Behaviour;
  readonly matches: RequestFilter;
  left: number;
}

export function misbehave(behaviour: Behaviour, request: Request, response: Response): void {
  if (behaviour === 'hang') return;
  if (behaviour === 'reset') {
    if ('stream' in request) request.stream.close(2);
    else request.socket.destroy();
  } else if (typeof behaviour === 'object' && 'redirect' in behaviour) {
    response.setHeader('location', behaviour.redirect);
    response.statusCode = 307;
    response.end();
  } else {
    const given = typeof behaviour === 'number' ? { status: behaviour } : behaviour;
    const { status, reason, message = `failNext asked for ${status}` } = given;
    const { retryAfterSeconds = status === 429 ? 1 : undefined } = given;
    const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
    sendError(response, new ApiError(status, message, details, reason));
  }
}
