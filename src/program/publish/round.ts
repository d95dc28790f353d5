/** One round of `publish`: from the source to the hub. */

import type { Api, Condition } from '../../diagnose/index.ts';
import { exitCodes, Failure } from '../failure.ts';
import type { HubReader } from '../hub.ts';
import { readInput } from '../input.ts';
import { secrets as secretsResource } from '../resources.ts';
import { sideBySide } from '../table.ts';
import { clusterApiSecrets, readClusterApi } from './from-cluster-api.ts';
import { readContexts } from './from-kubeconfig.ts';
import { type Need, planProviders, type Served, typeOf } from './plan-providers.ts';
import { checkHealth, type DesiredProfile, type Health, Hysteresis, Profiles, rejectedReason } from './profiles.ts';
import { readProviders, withProviders, writeProviders } from './provider-file.ts';
import { managerLabel, Secrets, type ServiceAccount, secretKey } from './secrets.ts';
import { profileNamer, type Refused, type SourceCluster, type SourceContent } from './source.ts';

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
  readonly provider: string;
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
  /** Names of providers that were added or widened. */
  readonly providersChanged: readonly string[];
  /** The text of the provider file. */
  readonly providerFile: string;
}

const atOnce = 20;

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
    const {
      providerFile,
      clusterManager,
      force,
      isDryRun,
      skipsHealth,
      isWatch,
      namespace,
      kubeconfig,
      serviceAccount,
    } = this.#settings;
    const source = kubeconfig === undefined ? 'cluster-api' : 'kubeconfig';
    const profiles = await Profiles.load(this.#hub, this.#api, { clusterManager, source, namespace });
    const content = await this.#readSource(profiles, signal);
    const secrets = await this.#loadSecrets();
    const refused = [...content.refused];
    const needs = content.clusters.flatMap((cluster) => {
      const need = this.#needOf(cluster, profiles);
      if (typeof need !== 'string') return need;
      refused.push({ ...cluster, message: need });
      return [];
    });
    const file = readProviders(providerFile);
    const plan = planProviders(file.providers, needs.filter(firstOfName(refused)), {
      clusterManager,
      force,
    });
    refused.push(...plan.refused);
    const isSame = plan.changed.size === 0 && file.text !== undefined;
    const text = isSame ? (file.text ?? '') : withProviders(providerFile, file.text, plan.providers, plan.changed);
    const served = isDryRun ? plan.served : await this.#writeSecrets(secrets, plan.served, refused, signal);
    const check = (clusters: readonly Served[]) =>
      checkHealth(clusters, plan.configured, (cluster) => !profiles.hasId(cluster), signal);
    const found = isDryRun || skipsHealth ? [] : [...(await check(served))];
    // The service account may have been deleted, or the cluster set up anew.
    const rejected = serviceAccount ? served.filter((_, index) => found[index]?.reason === rejectedReason) : [];
    if (secrets && rejected.length > 0) {
      const renewed = await this.#writeSecrets(secrets, rejected, [], signal, { isRejected: true });
      const again = await check(renewed);
      for (const [index, cluster] of renewed.entries()) {
        const health = again[index];
        if (health) found[served.indexOf(cluster)] = health;
      }
    }
    // A controller that watches both gets to know the provider before the profile.
    if (!isDryRun && !isSame) await writeProviders(providerFile, file.text, text, signal);
    const results: Result[] = [];
    const work = served.map((cluster, index) => ({ cluster, found: found[index] }));
    const writes = sideBySide(work, atOnce, signal, ({ cluster, found: one }) =>
      this.#write(profiles, cluster, one, { signal, isWatch }),
    );
    for await (const result of writes) {
      if ('message' in result) refused.push(result);
      else results.push(result);
    }
    signal.throwIfAborted();
    const named = [...content.clusters, ...content.refused].map((one) => `${one.namespace}/${one.name}`);
    const there = new Set([...named, ...content.leftOut]);
    const gone = profiles.vanished((name) => there.has(name));
    const vanished = gone.map(({ namespace, name }) => `${namespace}/${name}`);
    // A kubeconfig may be read while it is half-written: a watch looks twice.
    const pruned = !this.#settings.prune
      ? []
      : isWatch
        ? vanished.filter((name) => this.#vanished.has(name))
        : vanished;
    this.#vanished = new Set(vanished);
    for (const { namespace, name } of isDryRun ? [] : gone) {
      if (!pruned.includes(`${namespace}/${name}`)) continue;
      await profiles.delete(namespace, name, signal);
      await secrets?.delete(name, signal);
    }
    return {
      results,
      refused,
      notes: content.notes,
      vanished,
      pruned,
      providersChanged: [...plan.changed],
      providerFile: text,
    };
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
      isPublished: (name) => profiles.isOurs(namespace, name),
      allowInsecureTls,
      isForServiceAccount,
    });
  }

  async #loadSecrets(): Promise<Secrets | undefined> {
    const { secretsNamespace: namespace, clusterManager, serviceAccount } = this.#settings;
    if (namespace === undefined) return undefined;
    return Secrets.load(this.#hub, this.#api, { namespace, clusterManager, serviceAccount });
  }

  /** What a cluster needs, or why it is not published. */
  #needOf(source: SourceCluster, profiles: Profiles): Need | string {
    const { user, name, namespace } = source;
    const { secretsNamespace, clusterManager, serviceAccount } = this.#settings;
    const other = profiles.otherManagerOf(namespace, name);
    if (other !== undefined) {
      return `ClusterProfile ${namespace}/${name} belongs to the cluster manager ${other}: choose another --name-pattern or namespace`;
    }
    if (user.kind === 'secret') {
      const { secret, key } = user;
      return secretNeed(
        source,
        `cluster-api-${user.namespace}`,
        user.namespace,
        ['--name', '*-kubeconfig'],
        secret,
        key,
      );
    }
    if (user.kind === 'exec' && !serviceAccount) {
      return { source, exec: user.exec, type: typeOf(user.exec.command), isSecretReader: false };
    }
    if (secretsNamespace === undefined) {
      const what = user.kind === 'static' ? user.what : 'a plugin';
      return `its user has ${what}, and a ClusterProfile holds no credential: give --write-secrets NAMESPACE, or --service-account and --cluster-role for an identity of its own`;
    }
    const pins = ['--label', `${managerLabel}=${clusterManager}`];
    return secretNeed(source, secretReader, secretsNamespace, pins, name, secretKey);
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
    const isOwn = ({ user }: SourceCluster) =>
      user.kind === 'static' || (user.kind === 'exec' && this.#settings.serviceAccount !== undefined);
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
    { signal, isWatch }: { readonly signal: AbortSignal; readonly isWatch: boolean },
  ): Promise<Result | Refused> {
    const { source, entry } = cluster;
    const before = profiles.conditionOf(cluster);
    const health = found && this.#hysteresis.next(`${source.namespace}/${source.name}`, before?.status, found);
    const profile = profiles.desired(cluster, health, { isWatch });
    const shown = { profile, provider: entry.name, health: found ?? before };
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

function secretNeed(
  source: SourceCluster,
  type: string,
  namespace: string,
  pins: readonly string[],
  name: string,
  key: string,
): Need {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: secretReader,
    args: ['--namespace', namespace, ...pins],
    env: [],
    provideClusterInfo: true,
    config: { name, key },
    interactiveMode: 'Never',
  } as const;
  return { source, exec, type, isSecretReader: true };
}

/** Two clusters cannot have one name: the second is refused. */
function firstOfName(refused: Refused[]): (need: Need) => boolean {
  const taken = new Map<string, string>();
  return ({ source }) => {
    const key = `${source.namespace}/${source.name}`;
    const first = taken.get(key);
    if (first === undefined) taken.set(key, source.origin);
    else refused.push({ ...source, message: `its name ${key} is taken by ${first}: choose another --name-pattern` });
    return first === undefined;
  };
}
