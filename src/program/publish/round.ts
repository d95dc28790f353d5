/** One round of `publish`: from the source to the hub. */
import { type Api, apiOf, type Condition, type Provider } from '../../diagnose/index.ts';
import type { HubReader } from '../hub.ts';
import { clusterProfiles, secrets as kindOfSecrets } from '../resources.ts';
import { planProviders } from './plan-providers.ts';
import { type DesiredProfile, type Health, Hysteresis, Profiles, rejectedReason } from './profiles.ts';
import { readProviders, withProviders, writeProviders } from './provider-file.ts';
import { readSource } from './read-source.ts';
import { managerLabel, Secrets } from './secrets.ts';
import {
  attempt,
  attemptEach,
  fullName,
  type ProfileName,
  type Refused,
  type Served,
  type Settings,
  type SourceCluster,
  Unusable,
} from './source.ts';

/** What became of one cluster. */
export interface Result {
  readonly profile: DesiredProfile;
  readonly change: 'created' | 'updated' | 'unchanged' | 'would be written';
  readonly health: Pick<Condition, 'status' | 'reason'> | undefined;
}

export interface RoundResult {
  readonly results: readonly Result[];
  readonly refused: readonly Refused[];
  readonly notes: readonly string[];
  /** `namespace/name` of profiles whose clusters have left the source. */
  readonly vanished: readonly string[];
  /** Those of them that were deleted. */
  readonly pruned: readonly string[];
  /** Those of the provider file. */
  readonly providers: readonly Provider[];
  /** Names of those that were added or widened. */
  readonly providersChanged: readonly string[];
}

export class Publisher {
  readonly #hub: HubReader;
  readonly #api: Api;
  readonly #settings: Settings;
  readonly #hysteresis = new Hysteresis();
  /** Of the round before. */
  #vanished: ReadonlySet<string> = new Set();

  constructor(hub: HubReader, settings: Settings) {
    this.#hub = hub;
    this.#api = apiOf(hub.client);
    this.#settings = settings;
  }

  /** Rejects if nothing can be published. */
  async round(signal: AbortSignal): Promise<RoundResult> {
    const { providerFile, isDryRun, skipsHealth, serviceAccount, secretsNamespace, clusterManager } = this.#settings;
    const known = await this.#hub.list(clusterProfiles, this.#settings.namespace);
    const profiles = new Profiles(this.#api, this.#settings, known);
    const isPublished = (place: ProfileName) => profiles.isOurs(place);
    const content = await readSource(this.#hub, this.#settings, isPublished, signal);
    const ours = { labelSelector: `${managerLabel}=${clusterManager}` };
    const written = secretsNamespace === undefined ? [] : await this.#hub.list(kindOfSecrets, secretsNamespace, ours);
    const secrets = new Secrets(this.#api, this.#settings, written);
    const refused = [...content.refused];
    const named = this.#named(content.clusters, profiles, refused);
    const file = readProviders(providerFile);
    const plan = planProviders(file.providers, named, this.#settings);
    refused.push(...plan.refused);
    const writeSecrets = (clusters: readonly Served[], failed: Refused[], state = {}) =>
      attemptEach(clusters, failed, signal, async (cluster) => {
        await secrets.write(cluster.source, signal, state);
        return cluster;
      });
    const served = isDryRun ? plan.served : await writeSecrets(plan.served, refused);
    const check = (clusters: readonly Served[]) => profiles.checkHealth(clusters, plan.configured, signal);
    const health = isDryRun || skipsHealth ? new Map<Served, Health>() : await check(served);
    // The service account may have been deleted, or the cluster set up anew.
    const rejected = serviceAccount ? served.filter((one) => health.get(one)?.reason === rejectedReason) : [];
    if (rejected.length > 0) {
      const renewed = await writeSecrets(rejected, [], { isRejected: true });
      for (const [cluster, found] of await check(renewed)) health.set(cluster, found);
    }
    const text = withProviders(providerFile, file.text, plan.providers, plan.changed);
    // A controller that watches both gets to know the provider before the profile.
    if (!isDryRun && text !== file.text) await writeProviders(providerFile, file.text, text, signal);
    const results = await attemptEach(served, refused, signal, (one) =>
      this.#write(profiles, one, health.get(one), signal),
    );
    signal.throwIfAborted();
    const vanished = profiles.vanished(
      new Set([...[...content.clusters, ...content.refused].map(fullName), ...content.leftOut]),
    );
    const pruned = vanished.filter((place) => this.#isPruned(place));
    this.#vanished = new Set(vanished.map(fullName));
    for (const place of isDryRun ? [] : pruned) {
      await profiles.delete(place, signal);
      await secrets.delete(place.name, signal);
    }
    return {
      results,
      refused,
      notes: content.notes,
      vanished: vanished.map(fullName),
      pruned: pruned.map(fullName),
      providers: plan.providers,
      providersChanged: [...plan.changed],
    };
  }

  /** A kubeconfig may be read while it is half-written: a watch looks twice. */
  #isPruned(vanished: ProfileName): boolean {
    const { prune, isWatch } = this.#settings;
    return prune && (!isWatch || this.#vanished.has(fullName(vanished)));
  }

  /** Those that may have their profiles. Two clusters cannot have one name: the second is refused. */
  #named(clusters: readonly SourceCluster[], profiles: Profiles, refused: Refused[]): readonly SourceCluster[] {
    const taken = new Map<string, SourceCluster>();
    for (const cluster of clusters) {
      attempt(cluster, refused, () => {
        const name = fullName(cluster);
        const manager = profiles.otherManagerOf(cluster);
        if (manager !== undefined) {
          const advice = 'choose another --name-pattern or namespace';
          throw new Unusable(`ClusterProfile ${name} belongs to the cluster manager ${manager}: ${advice}`);
        }
        const first = taken.get(name)?.origin;
        if (first === undefined) taken.set(name, cluster);
        else throw new Unusable(`its name ${name} is taken by ${first}: choose another --name-pattern`);
      });
    }
    return [...taken.values()];
  }

  async #write(profiles: Profiles, cluster: Served, found: Health | undefined, signal: AbortSignal): Promise<Result> {
    const before = profiles.conditionOf(cluster.source);
    const health = found && this.#hysteresis.next(fullName(cluster.source), before?.status, found);
    const profile = profiles.desired(cluster, health);
    const change = this.#settings.isDryRun ? 'would be written' : await profiles.write(profile, signal);
    return { profile, health: found ?? before, change };
  }
}
