/** What a call of `publish` asks for, and what its source gives: clusters, and how a controller reaches each. */
import { hash } from 'node:crypto';
import {
  type AccessProvider,
  ConfigurationError,
  type KubeconfigAccess,
  type ResolvedCluster,
  type ResolvedExec,
} from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';
import { templateOf } from '../input.ts';
import { sideBySide } from '../table.ts';

export interface Settings {
  /** `undefined` for Cluster API. */
  readonly kubeconfig: string | undefined;
  /** Of `--context`; none for all contexts. */
  readonly patterns: readonly string[];
  /** `undefined` for all. */
  readonly namespace: string | undefined;
  readonly providerFile: string;
  /** Widen providers that are there already. */
  readonly force: boolean;
  readonly secretsNamespace: string | undefined;
  /** Whose token is written, instead of the credential of the source. */
  readonly serviceAccount: ServiceAccount | undefined;
  readonly allowInsecureTls: boolean;
  readonly clusterManager: string;
  readonly namePattern: string | undefined;
  readonly prune: boolean;
  readonly isWatch: boolean;
  readonly isDryRun: boolean;
  readonly skipsHealth: boolean;
}

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly clusterRole: string;
  /** Of a token. A server may shorten it. */
  readonly lifetimeMs: number;
}

/** Of the ClusterProfile of a cluster. */
export interface ProfileName {
  readonly namespace: string;
  readonly name: string;
}

export const fullName = ({ namespace, name }: ProfileName) => `${namespace}/${name}`;

/** Where a cluster comes from, and its profile. */
interface Place extends ProfileName {
  /** For messages: `context prod-eu`. */
  readonly origin: string;
}

/** A cluster to publish, and the plugin that gives a controller its credential. */
export interface SourceCluster extends Place {
  readonly displayName: string;
  readonly cluster: ResolvedCluster;
  /** The source's own rights. */
  readonly access: KubeconfigAccess;
  readonly exec: ResolvedExec;
  /** The access type of a new provider. */
  readonly type: string;
  /**
   * The Secret that the plugin of this package reads: one of publish, or one of the source. That plugin binds a credential to its server
   * itself, and its arguments are the operator's alone. `undefined` for any other plugin.
   */
  readonly secret?: 'own' | 'of the source' | undefined;
}

/** A cluster, and the entry of its profile that a provider serves. */
export interface Served {
  readonly source: SourceCluster;
  readonly entry: AccessProvider;
}

/** A cluster that cannot be published. Its profile, if there is one, is left as it is. */
export interface Refused extends Place {
  readonly message: string;
}

/** Why one cluster is not published. */
export class Unusable extends Error {}

/** What `work` gives. If it throws an `Unusable`, or finds a kubeconfig that cannot be used, the cluster is refused, and the others go on. */
export function attempt<T>(cluster: Place, refused: Refused[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Unusable || error instanceof ConfigurationError)) throw error;
    refused.push({ ...cluster, message: error instanceof Unusable ? error.message : problemsOf(error) });
    return undefined;
  }
}

function problemsOf({ problems }: ConfigurationError): string {
  const texts = problems.map(({ line, path, message }) =>
    [line === undefined ? [] : `line ${line}`, path || [], message].flat().join(': '),
  );
  return texts.join('; ');
}

export const clustersAtOnce = 20;

/** The same for what is asked of servers, where any error is that of one cluster; only a `Failure` is that of all. */
export async function attemptEach<T>(
  clusters: readonly Served[],
  refused: Refused[],
  signal: AbortSignal,
  work: (cluster: Served) => Promise<T>,
): Promise<readonly T[]> {
  const done: T[] = [];
  const attempts = sideBySide(clusters, clustersAtOnce, signal, async (cluster) => {
    try {
      return { result: await work(cluster) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure || !(error instanceof Error)) throw error;
      return { ...cluster.source, message: error.message };
    }
  });
  for await (const one of attempts) {
    if ('result' in one) done.push(one.result);
    else refused.push(one);
  }
  return done;
}

export interface SourceContent {
  readonly clusters: readonly SourceCluster[];
  readonly refused: readonly Refused[];
  /** `namespace/name` of the profiles of clusters that the call does not ask for. */
  readonly leftOut: readonly string[];
  /** For stderr, said once. */
  readonly notes: readonly string[];
}

/** The longest name: it may become a label's value. */
const maxNameLength = 63;
const hashLength = 6;

/**
 * Gives the names of profiles, by a pattern such as `{context}`. What Kubernetes refuses is replaced, and the beginning of a hash is added: the
 * name depends on nothing but its own values. Throws a `Failure` for a pattern that names something else.
 */
export function profileNamer<Key extends string>(
  pattern: string,
  keys: readonly Key[],
): (values: Readonly<Record<Key, string>>) => string {
  const fill = templateOf('--name-pattern', pattern, keys);
  return (values) => {
    const wanted = fill(values);
    const clean = wanted
      .toLowerCase()
      .replace(/[^a-z0-9.]+/g, '-')
      .replace(/\.+/g, '.');
    const trimmed = clean.replace(/-*\.-*/g, '.').replace(/^[-.]+|[-.]+$/g, '');
    if (trimmed === wanted && wanted.length <= maxNameLength) return wanted;
    const digest = hash('sha256', wanted, 'hex').slice(0, hashLength);
    const kept = trimmed.slice(0, maxNameLength - hashLength - 1).replace(/[-.]+$/, '');
    return kept === '' ? `cluster-${digest}` : `${kept}-${digest}`;
  };
}
