/** `resolve` for verbs that go on with the other ClusterProfiles where the library refuses one. */
import type { ConfiguredProvider } from '../access/provider.ts';
import { type ResolvedAccess, resolve } from '../access/resolve.ts';
import { ProfileError } from '../errors/index.ts';
import type { Profile } from './profiles.ts';

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
