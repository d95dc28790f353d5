/** The user of a request, by token or certificate. */

/** An identity, as `SelfSubjectReview` shows it. */
export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The user with the groups of all users, and those of all service accounts. */
export function withGroups(user: User): User {
  const groups = [...(user.groups ?? serviceAccountGroups(user.username)), 'system:authenticated'];
  return { ...user, groups: [...new Set(groups)] };
}

function serviceAccountGroups(username: string): readonly string[] {
  const [system, kind, namespace, name, more] = username.split(':');
  if (system !== 'system' || kind !== 'serviceaccount' || !namespace || !name || more !== undefined) return [];
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}
