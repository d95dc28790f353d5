/** What the fleet needs to know from the providers about a profile. */
import { reasonOf } from '../../observability/callbacks.ts';
import type { CredentialProviders } from '../../providers/credential-providers.ts';
import type { FleetProfile } from '../profile.ts';

/** What a profile resolves to, or why it does not resolve, as a text that can be compared. */
export function accessOf(providers: CredentialProviders, profile: FleetProfile): string {
  try {
    // Ignored fields have no effect.
    return JSON.stringify({ ...providers.resolve(profile), ignored: [] });
  } catch (error) {
    return reasonOf(error);
  }
}

/** Ends the cooldown of a failed plugin: it runs at the next request. */
export function forgetFailure(providers: CredentialProviders, profile: FleetProfile): void {
  try {
    const config = providers.getConfig(profile);
    config.invalidate();
    config.close().catch(() => undefined);
  } catch {
    // The profile no longer resolves: the next attempt reports that.
  }
}
