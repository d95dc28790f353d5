/** What the fleet asks of the providers about a profile. */
import { reasonOf } from '../../callbacks.ts';
import type { CredentialProviders } from '../../credential-providers.ts';
import type { FleetProfile } from '../profile.ts';

/** What a profile resolves to, or why it does not, as a text to compare: the rest of a profile may change as it likes. */
export function accessOf(providers: CredentialProviders, profile: FleetProfile): string {
  try {
    // What was ignored has no effect.
    return JSON.stringify({ ...providers.resolve(profile), ignored: [] });
  } catch (error) {
    return reasonOf(error);
  }
}

/** A plugin that is held back after its failure runs at the next request. */
export function forgetFailure(providers: CredentialProviders, profile: FleetProfile): void {
  try {
    const config = providers.getConfig(profile);
    config.invalidate();
    config.close().catch(() => undefined);
  } catch {
    // It resolves to nothing any more: the next try will say so.
  }
}
