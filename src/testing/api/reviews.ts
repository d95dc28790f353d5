/** Reviews of identities: POST requests that store nothing. */

import { type Json, type JsonObject, without } from './json.ts';
import { readObject, timestamp } from './metadata.ts';
import { resourceType } from './resource-type.ts';
import type { User } from './users.ts';

export const reviewType = resourceType({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
});

/** Answers a SelfSubjectReview. */
export function review(body: Json, { username, uid, groups, extra }: User, now: number): JsonObject {
  readObject(reviewType, body);
  return {
    kind: reviewType.kind,
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: timestamp(now) },
    status: { userInfo: without({ username, uid, groups, extra }) },
  };
}
