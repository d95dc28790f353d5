/** A ClusterProfile as `check` and `get` look at it: its fields and its readiness. */
import type { ConfiguredProvider } from '../access/provider-schema.ts';
import { type ResolvedAccess, resolve } from '../access/resolve.ts';
import { ProfileError } from '../errors/index.ts';
import type { FleetProfile } from '../fleet/membership/identity.ts';

/** A ClusterProfile from the hub or a file. It is an object, and nothing else is checked. */
export type Profile = Partial<FleetProfile>;

/** As `resolve` does it; returns why the library refuses the profile, so that others go on. */
export function tryToResolve(
  profile: Profile,
  providers: readonly ConfiguredProvider[],
): ResolvedAccess | ProfileError {
  try {
    return resolve(profile, providers);
  } catch (error) {
    if (error instanceof ProfileError) return error;
    throw error;
  }
}

/** A message of the library without `ClusterProfile fleet/spoke-1, https://...: `, which stands above it. */
export function withoutProfile(message: string, profile: string): string {
  const opening = `ClusterProfile ${profile}`;
  if (!message.startsWith(opening)) return message;
  return message.slice(opening.length).replace(/^(?:, \S+)?: /, '');
}

/** Codes for profiles that the operator's configuration refuses. The profile itself may be right. */
export function isOfProvider({ code, path }: ProfileError): boolean {
  // Without a status no access has been published yet.
  if (path === 'status') return false;
  return code === 'NO_MATCHING_PROVIDER' || code === 'SERVER_INSECURE' || code.endsWith('_NOT_ALLOWED');
}

/** The value of a field; `undefined` if there is none. */
export function at(value: unknown, ...keys: readonly (string | number)[]): unknown {
  let found: unknown = value;
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

export function textAt(value: unknown, ...keys: readonly (string | number)[]): string | undefined {
  const found = at(value, ...keys);
  return typeof found === 'string' ? found : undefined;
}

export function listAt(value: unknown, ...keys: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...keys);
  return Array.isArray(found) ? found : [];
}
