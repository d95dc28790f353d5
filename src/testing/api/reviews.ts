/** Reviews of identities: POST requests that store nothing. */

import { z } from 'zod';
import type { Json, JsonObject } from './json.ts';
import { readObject, timestamp } from './metadata.ts';
import { resourceType } from './resource-type.ts';
import { badRequest } from './status.ts';
import { type Authenticated, issuer, userInfo } from './tokens.ts';
import type { User } from './users.ts';

export interface Reviewer {
  readonly clock: () => number;
  /** The user of a token, and which of these audiences it is for. */
  authenticate(token: string, audiences: readonly string[]): Authenticated | undefined;
}

const reviewType = (kind: string) =>
  resourceType({
    group: 'authentication.k8s.io',
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: false,
  });

/** By plural and group, as discovery lists them. */
export const reviewTypes = [reviewType('SelfSubjectReview'), reviewType('TokenReview')];

const tokenReviewSpec = z.object({ token: z.string().nullish(), audiences: z.array(z.string()).nullish() });

/** Answers a review of a kind. */
export function review(kind: string, body: Json, user: User, { clock, authenticate }: Reviewer): JsonObject {
  const type = reviewType(kind);
  const { spec } = readObject(type, body);
  const answer = { kind, apiVersion: 'authentication.k8s.io/v1' };
  if (kind === 'SelfSubjectReview') {
    const metadata = { creationTimestamp: timestamp(clock()) };
    return { ...answer, metadata, status: { userInfo: userInfo(user) } };
  }
  const { token, audiences } = tokenReviewSpec.catch({}).parse(spec ?? {});
  if (!token) throw badRequest('token is required for TokenReview in authentication');
  const asked = audiences?.length ? audiences : [issuer];
  const found = authenticate(token, asked);
  const status = found
    ? { authenticated: true, user: userInfo(found.user), audiences: found.audiences }
    : { user: {}, error: 'invalid bearer token' };
  return { ...answer, metadata: {}, spec: { token, ...(audiences ? { audiences } : {}) }, status };
}
