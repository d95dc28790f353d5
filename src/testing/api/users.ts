/** The user of a request: by token or certificate, and by impersonation. */

import type { Request } from './http.ts';
import { badRequest } from './status.ts';

/** An identity, as `SelfSubjectReview` shows it. */
export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const authenticated = 'system:authenticated';

/** The user with the groups of all users, and those of all service accounts. */
export function withGroups(user: User): User {
  const groups = [...(user.groups ?? serviceAccountGroups(user.username)), authenticated];
  return { ...user, groups: [...new Set(groups)] };
}

function serviceAccountGroups(username: string): readonly string[] {
  const [system, kind, namespace, name, more] = username.split(':');
  if (system !== 'system' || kind !== 'serviceaccount' || !namespace || !name || more !== undefined) return [];
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

const prefix = 'impersonate-';

/** The user that the request acts as: every user may impersonate every other. Throws a 400 if no user is named. */
export function actingAs(request: Request, user: User): User {
  const { username, uid, groups, extra } = impersonated(request);
  const more = groups.length > 0 || Object.keys(extra).length > 0 || uid !== '';
  if (username === '') {
    if (more)
      throw badRequest('the request impersonates a group, a UID or an extra field without impersonating a user');
    return user;
  }
  return {
    username,
    ...(uid === '' ? {} : { uid }),
    groups: impersonatedGroups(username, groups),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

function impersonatedGroups(username: string, given: readonly string[]): readonly string[] {
  const groups = given.length > 0 ? given : serviceAccountGroups(username);
  const everybody = username === 'system:anonymous' ? 'system:unauthenticated' : authenticated;
  return groups.includes(authenticated) || groups.includes('system:unauthenticated') ? groups : [...groups, everybody];
}

function impersonated({ rawHeaders }: Request) {
  let [username, uid] = ['', ''];
  const groups: string[] = [];
  const extra: Record<string, string[]> = Object.create(null);
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (!name.startsWith(prefix)) continue;
    const value = Buffer.from(rawHeaders[index + 1] ?? '', 'latin1').toString('utf8');
    const what = name.slice(prefix.length);
    if (what === 'user') username = value;
    else if (what === 'uid') uid = value;
    else if (what === 'group') groups.push(value);
    else if (what.startsWith('extra-')) {
      const key = unescapedKey(what.slice('extra-'.length));
      extra[key] = [...(extra[key] ?? []), value];
    }
  }
  return { username, uid, groups, extra };
}

function unescapedKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
