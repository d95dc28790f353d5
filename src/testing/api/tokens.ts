/** Tokens of service accounts: minted by TokenRequest, valid until they expire or their account is deleted. */

import { generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { z } from 'zod';
import type { ApiState } from './api-state.ts';
import { type Json, type JsonObject, without } from './json.ts';
import { readObject, timestamp } from './metadata.ts';
import { resourceType } from './resource-type.ts';
import { badRequest, cause, invalid, notFound, notImplemented } from './status.ts';
import type { User } from './users.ts';
import { checkName } from './write.ts';

/** What the API server's own tokens are for. */
export const issuer = 'https://kubernetes.default.svc';

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
const claimsSchema = z.object({
  aud: z.array(z.string()),
  exp: z.number(),
  jti: z.string(),
  'kubernetes.io': z.object({
    namespace: z.string(),
    serviceaccount: z.object({ name: z.string(), uid: z.string() }),
  }),
});

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The account of a token, and its audiences. */
export interface Authenticated {
  readonly user: User;
  readonly audiences: readonly string[];
}

export class ServiceAccountTokens {
  readonly #state: ApiState;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #keyId = randomUUID();

  constructor(state: ApiState) {
    this.#state = state;
  }

  /** Answers a TokenRequest. Throws a 404 if the account does not exist, a 422 for a duration that Kubernetes refuses. */
  request(namespace: string, name: string, body: Json): JsonObject {
    const type = this.#accounts();
    const account = this.#state.find(type, namespace, name);
    if (!account) throw notFound(type, name);
    const { spec: given, metadata } = readObject(requestType, body);
    checkName(type, namespace, name, { ...metadata, name });
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
    const token = this.#sign({
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: issuer,
      jti: randomUUID(),
      'kubernetes.io': { namespace, serviceaccount: { name, uid: account.metadata.uid } },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    });
    return {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, uid: account.metadata.uid, creationTimestamp: timestamp(this.#state.clock()) },
      spec: { audiences, expirationSeconds: seconds, boundObjectRef: null },
      status: { token, expirationTimestamp: timestamp((now + seconds) * 1_000) },
    };
  }

  /**
   * The account of a token, and which of these audiences it is for; `undefined` if the token is not ours, has expired, is for none of
   * them, or belongs to a deleted account.
   */
  authenticate(token: string, audiences: readonly string[]): Authenticated | undefined {
    const [header = '', payload = '', signature = ''] = token.split('.');
    const key = { key: this.#keys.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    const signed = Buffer.from(`${header}.${payload}`);
    if (signature === '' || !verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined;
    const claims = claimsSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))); // we signed it
    const { namespace, serviceaccount } = claims['kubernetes.io'];
    const account = this.#state.find(this.#accounts(), namespace, serviceaccount.name);
    if (account?.metadata.uid !== serviceaccount.uid || claims.exp * 1_000 <= this.#state.clock()) return undefined;
    const shared = audiences.filter((audience) => claims.aud.includes(audience));
    if (shared.length === 0) return undefined;
    const user = {
      username: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`] },
    };
    return { user, audiences: shared };
  }

  #sign(claims: object): string {
    const text = `${encode({ alg: 'ES256', kid: this.#keyId })}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(text), { key: this.#keys.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  }

  #accounts() {
    const type = this.#state.type('', 'v1', 'serviceaccounts');
    if (!type) throw new Error('service accounts are always served');
    return type;
  }
}

/** What a review says of a user. */
export const userInfo = ({ username, uid, groups, extra }: User): JsonObject =>
  without({ username, uid, groups, extra });
