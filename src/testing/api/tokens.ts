/** Identities: the user of a request, tokens of service accounts, and reviews of both. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { resourceType, serviceAccountType } from './built-in-types.ts';
import type { Request } from './http.ts';
import { type Json, type JsonObject, without } from './json.ts';
import { readObject } from './kinds.ts';
import { type Place, timestamp } from './objects.ts';
import { badRequest, cause, invalid, notImplemented } from './status.ts';
import { checkName } from './write.ts';

/** What the API server's own tokens are for. */
const issuer = 'https://kubernetes.default.svc';

const requestType = resourceType({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  plural: 'tokenrequests',
  namespaced: true,
});
const specSchema = z.object({
  audiences: z.array(z.string()).nullish(),
  expirationSeconds: z.int().nullish(),
  boundObjectRef: z.looseObject({}).nullish(),
});
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** What is known of a token for the API server. */
interface Minted {
  readonly place: Place;
  readonly user: User;
  /** Seconds since 1970. */
  readonly expires: number;
}

/** @internal */
export class ServiceAccountTokens {
  readonly #state: ApiState;
  readonly #minted = new Map<string, Minted>();

  constructor(state: ApiState) {
    this.#state = state;
  }

  /** Answers a TokenRequest. Throws a 404 if the account does not exist, a 422 for a duration that Kubernetes refuses. */
  request(namespace: string, name: string, body: Json): JsonObject {
    const place = { type: serviceAccountType, namespace, name };
    const account = this.#state.get(place);
    const { spec: given, metadata } = readObject(requestType, body);
    checkName(place, { ...metadata, name });
    const spec = specSchema.safeParse(given ?? {});
    if (!spec.success) throw badRequest(`TokenRequest cannot be read: ${z.prettifyError(spec.error)}`);
    if (spec.data.boundObjectRef) throw notImplemented('tokens that are bound to an object');
    const seconds = spec.data.expirationSeconds ?? 3_600;
    const audiences = spec.data.audiences?.length ? spec.data.audiences : [issuer];
    if (seconds < 600) {
      const why = 'may not specify a duration less than 10 minutes';
      throw invalid(requestType, '', [cause.invalid('spec.expirationSeconds', seconds, why)]);
    }
    const now = Math.floor(this.#state.clock() / 1_000);
    const expires = now + seconds;
    const { uid } = account.metadata;
    const username = `system:serviceaccount:${namespace}:${name}`;
    const token = jwt({
      aud: audiences,
      exp: expires,
      iat: now,
      iss: issuer,
      jti: randomUUID(),
      'kubernetes.io': { namespace, serviceaccount: { name, uid } },
      nbf: now,
      sub: username,
    });
    if (audiences.includes(issuer)) this.#minted.set(token, { place, user: { username, uid }, expires });
    return {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, uid, creationTimestamp: timestamp(this.#state.clock()) },
      spec: { audiences, expirationSeconds: seconds, boundObjectRef: null },
      status: { token, expirationTimestamp: timestamp(expires * 1_000) },
    };
  }

  /**
   * The user of a request, who has a certificate or a token that is accepted; `undefined` if it has neither. A certificate takes
   * precedence, as in an API server.
   */
  authenticate({ socket, headers }: Request, accepted: ReadonlyMap<string, User>): User | undefined {
    const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    const ofToken = token === undefined ? undefined : (accepted.get(token) ?? this.#account(token));
    const user = userOfCertificate(socket as TLSSocket) ?? ofToken; // plain sockets have no `authorized`
    return user && withGroups(user);
  }

  /** The account of a token; `undefined` if the token is not ours, has expired, or belongs to a deleted account. */
  #account(token: string): User | undefined {
    const minted = this.#minted.get(token);
    if (!minted || minted.expires * 1_000 <= this.#state.clock()) return undefined;
    const account = this.#state.find(minted.place);
    return account?.metadata.uid === minted.user.uid ? minted.user : undefined;
  }
}

/** A token in the form of a JWT. Nobody can verify its signature, as the keys are not served. */
function jwt(claims: object): string {
  return `${encode({ alg: 'ES256', kid: 'fake' })}.${encode(claims)}.${randomBytes(64).toString('base64url')}`;
}

/** An identity, as `SelfSubjectReview` shows it. */
export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

function userOfCertificate(socket: TLSSocket): User | undefined {
  if (!socket.authorized) return undefined;
  const { CN, O } = socket.getPeerCertificate().subject ?? {};
  const [username] = [CN].flat();
  return username === undefined ? undefined : { username, ...(O === undefined ? {} : { groups: [O].flat() }) };
}

/** The user with the groups of all users, and those of all service accounts. */
function withGroups(user: User): User {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(user.username) ?? [];
  const ofAccounts = namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const groups = [...(user.groups ?? ofAccounts), 'system:authenticated'];
  return { ...user, groups: [...new Set(groups)] };
}

export const reviewType = resourceType({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
});

export function review(body: Json, { username, uid, groups, extra }: User, now: number): JsonObject {
  readObject(reviewType, body);
  return {
    kind: reviewType.kind,
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: timestamp(now) },
    status: { userInfo: without({ username, uid, groups, extra }) },
  };
}
