/** One round of `publish`: from the source to the hub. */

import type { Api, Condition, Provider } from '../../diagnose/index.ts';
import { exitCodes, Failure } from '../failure.ts';
import type { HubReader } from '../hub.ts';
import { readInput } from '../input.ts';
import { secrets as secretsResource } from '../resources.ts';
import { sideBySide } from '../table.ts';
import { clusterApiSecrets, readClusterApi } from './from-cluster-api.ts';
import { readContexts } from './from-kubeconfig.ts';
import { type Need, planProviders, type Served, typeOf } from './plan-providers.ts';
import { atOnce, type DesiredProfile, type Health, Hysteresis, Profiles, rejectedReason } from './profiles.ts';
import { readProviders, withProviders, writeProviders } from './provider-file.ts';
import { managerLabel, Secrets, type ServiceAccount, secretKey } from './secrets.ts';
import {
  fullName,
  type ProfileName,
  profileNamer,
  type Refused,
  type SourceCluster,
  type SourceContent,
} from './source.ts';

/** What a call of `publish` asks for. */
export interface Settings {
  /** `undefined` for Cluster API. */
  readonly kubeconfig: string | undefined;
  readonly patterns: readonly string[];
  /** `undefined` for all. */
  readonly namespace: string | undefined;
  readonly providerFile: string;
  readonly force: boolean;
  readonly secretsNamespace: string | undefined;
  readonly serviceAccount: ServiceAccount | undefined;
  readonly allowInsecureTls: boolean;
  readonly clusterManager: string;
  readonly namePattern: string | undefined;
  readonly prune: boolean;
  readonly isWatch: boolean;
  readonly isDryRun: boolean;
  readonly skipsHealth: boolean;
}

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

  constructor(hub: HubReader, api: Api, settings: Settings) {
    this.#hub = hub;
    this.#api = api;
    this.#settings = settings;
  }

  /** Rejects if nothing can be published. */
  async round(signal: AbortSignal): Promise<RoundResult> {
    const { providerFile, isDryRun, skipsHealth, serviceAccount, kubeconfig } = this.#settings;
    const source = kubeconfig === undefined ? 'cluster-api' : 'kubeconfig';
    const profiles = await Profiles.load(this.#hub, this.#api, { ...this.#settings, source });
    const content = await this.#readSource(profiles, signal);
    const secrets = await this.#loadSecrets();
    const refused = [...content.refused];
    const needs = this.#needsOf(content.clusters, profiles, refused);
    const file = readProviders(providerFile);
    const plan = planProviders(file.providers, needs, this.#settings);
    refused.push(...plan.refused);
    const served = isDryRun ? plan.served : await this.#writeSecrets(secrets, plan.served, refused, signal);
    const check = (clusters: readonly Served[]) => profiles.checkHealth(clusters, plan.configured, signal);
    const health = isDryRun || skipsHealth ? new Map<Served, Health>() : await check(served);
    // The service account may have been deleted, or the cluster set up anew.
    const rejected = serviceAccount ? served.filter((one) => health.get(one)?.reason === rejectedReason) : [];
    if (rejected.length > 0) {
      const renewed = await this.#writeSecrets(secrets, rejected, [], signal, { isRejected: true });
      for (const [cluster, found] of await check(renewed)) health.set(cluster, found);
    }
    const text = withProviders(providerFile, file.text, plan.providers, plan.changed);
    // A controller that watches both gets to know the provider before the profile.
    if (!isDryRun && text !== file.text) await writeProviders(providerFile, file.text, text, signal);
    const results: Result[] = [];
    const writes = sideBySide(served, atOnce, signal, (one) => this.#write(profiles, one, health.get(one), signal));
    for await (const result of writes) {
      if ('message' in result) refused.push(result);
      else results.push(result);
    }
    signal.throwIfAborted();
    const vanished = profiles.vanished(
      new Set([...[...content.clusters, ...content.refused].map(fullName), ...content.leftOut]),
    );
    const pruned = vanished.filter((place) => this.#isPruned(place));
    this.#vanished = new Set(vanished.map(fullName));
    for (const place of isDryRun ? [] : pruned) {
      await profiles.delete(place, signal);
      await secrets?.delete(place.name, signal);
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

  async #readSource(profiles: Profiles, signal: AbortSignal): Promise<SourceContent> {
    const { kubeconfig, patterns, namespace = '', namePattern, allowInsecureTls, serviceAccount } = this.#settings;
    if (kubeconfig === undefined) {
      const nameOf = profileNamer(namePattern ?? '{cluster}', ['cluster', 'namespace']);
      const found = await this.#hub.list(secretsResource, this.#settings.namespace, clusterApiSecrets);
      return readClusterApi(found, { nameOf, allowInsecureTls });
    }
    const nameOf = profileNamer(namePattern ?? '{context}', ['context', 'cluster']);
    const isForServiceAccount = serviceAccount !== undefined;
    const text = await readInput(`kubeconfig ${kubeconfig}`, kubeconfig, exitCodes.configuration, signal);
    return readContexts(kubeconfig, text.toString('utf8'), {
      patterns,
      namespace,
      nameOf,
      isPublished: (name) => profiles.isOurs({ namespace, name }),
      allowInsecureTls,
      isForServiceAccount,
    });
  }

  async #loadSecrets(): Promise<Secrets | undefined> {
    const { secretsNamespace: namespace, clusterManager, serviceAccount } = this.#settings;
    if (namespace === undefined) return undefined;
    return Secrets.load(this.#hub, this.#api, { namespace, clusterManager, serviceAccount });
  }

  /** Two clusters cannot have one name: the second is refused. */
  #needsOf(clusters: readonly SourceCluster[], profiles: Profiles, refused: Refused[]): readonly Need[] {
    const needs = new Map<string, Need>();
    for (const source of clusters) {
      const name = fullName(source);
      const need = this.#needOf(source, profiles);
      const first = needs.get(name)?.source.origin;
      if (typeof need === 'string') refused.push({ ...source, message: need });
      else if (first === undefined) needs.set(name, need);
      else refused.push({ ...source, message: `its name ${name} is taken by ${first}: choose another --name-pattern` });
    }
    return [...needs.values()];
  }

  /** What a cluster needs, or why it is not published. */
  #needOf(source: SourceCluster, profiles: Profiles): Need | string {
    const { user, name, namespace } = source;
    const { secretsNamespace, clusterManager, serviceAccount } = this.#settings;
    const other = profiles.otherManagerOf(source);
    if (other !== undefined) {
      return `ClusterProfile ${fullName(source)} belongs to the cluster manager ${other}: choose another --name-pattern or namespace`;
    }
    if (user.kind === 'secret') {
      const args = ['--namespace', namespace, '--name', '*-kubeconfig'];
      return secretNeed(source, `cluster-api-${namespace}`, args, { name: user.secret, key: user.key });
    }
    if (user.kind === 'exec' && !serviceAccount) {
      return { source, exec: user.exec, type: typeOf(user.exec.command), isSecretReader: false };
    }
    if (secretsNamespace === undefined) {
      const what = user.kind === 'static' ? user.what : 'a plugin';
      return `its user has ${what}, and a ClusterProfile holds no credential: give --write-secrets NAMESPACE, or --service-account and --cluster-role for an identity of its own`;
    }
    const args = ['--namespace', secretsNamespace, '--label', `${managerLabel}=${clusterManager}`];
    return secretNeed(source, secretReader, args, { name, key: secretKey });
  }

  /** Returns the clusters whose Secrets are right. */
  async #writeSecrets(
    secrets: Secrets | undefined,
    served: readonly Served[],
    refused: Refused[],
    signal: AbortSignal,
    state: { readonly isRejected?: boolean } = {},
  ): Promise<readonly Served[]> {
    if (!secrets) return served;
    const isOwn = ({ user }: SourceCluster) => this.#settings.serviceAccount !== undefined || user.kind === 'static';
    const done: Served[] = [];
    const writes = sideBySide(served, atOnce, signal, async (cluster) => {
      const { source } = cluster;
      try {
        if (isOwn(source)) await secrets.write(source, signal, state);
        return cluster;
      } catch (error) {
        signal.throwIfAborted();
        return { ...source, message: error instanceof Error ? error.message : String(error) };
      }
    });
    for await (const one of writes) {
      if ('message' in one) refused.push(one);
      else done.push(one);
    }
    return done;
  }

  async #write(
    profiles: Profiles,
    cluster: Served,
    found: Health | undefined,
    signal: AbortSignal,
  ): Promise<Result | Refused> {
    const { source } = cluster;
    const before = profiles.conditionOf(source);
    const health = found && this.#hysteresis.next(fullName(source), before?.status, found);
    const profile = profiles.desired(cluster, health);
    const shown = { profile, health: found ?? before };
    if (this.#settings.isDryRun) return { ...shown, change: 'would be written' };
    try {
      return { ...shown, change: await profiles.write(profile, signal) };
    } catch (error) {
      if (error instanceof Failure || !(error instanceof Error)) throw error;
      return { ...source, message: error.message };
    }
  }
}

const secretReader = 'kubeconfig-secretreader';

/** Its profile says which Secret it is. */
function secretNeed(
  source: SourceCluster,
  type: string,
  args: readonly string[],
  config: { readonly name: string; readonly key: string },
): Need {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: secretReader,
    args,
    env: [],
    provideClusterInfo: true,
    config,
    interactiveMode: 'Never',
  } as const;
  return { source, exec, type, isSecretReader: true };
}
