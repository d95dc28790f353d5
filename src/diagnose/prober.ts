/**
 * Checks one cluster, stage by stage, with the same code as a controller: rules, plugin runs, proxies, TLS and credentials.
 */

import type { FlaggedOptions } from '../access/flags.ts';
import type { ConfiguredProvider } from '../access/provider.ts';
import { profileName, type ResolvedAccess } from '../access/resolve.ts';
import { CredentialsError, PluginError, ProfileError } from '../errors/index.ts';
import { type Executable, findExecutable } from '../exec/executable.ts';
import { controlPlaneReadiness } from '../fleet/membership/readiness.ts';
import { parseOptions } from '../options/options.ts';
import { redact } from '../redaction/known-secrets.ts';
import { Connections } from '../rest/transport/connections.ts';
import { printable } from '../util/printable.ts';
import { ClusterProbe } from './cluster-probe.ts';
import type { Right } from './permissions.ts';
import { destinationOf } from './plugin-run.ts';
import { isOfProvider, type Profile, tryToResolve, withoutProfile } from './profile.ts';
import { type ClusterReport, type Found, type Stage, StageFailure, type StageName } from './stages.ts';

/** The providers of a controller, and what its flags set. */
export interface CallProviders {
  readonly providers: readonly ConfiguredProvider[];
  /** The options that flags set, such as `cleanEnvironment` and `pluginPolicy`. */
  readonly options: FlaggedOptions;
}

export interface ProbeOptions {
  /** What the identity has to be allowed. Without it, permissions are not looked at. */
  readonly rights?: readonly Right[] | undefined;
  readonly signal: AbortSignal;
  /** Called when a stage begins. */
  readonly onStage?: (profile: string, stage: StageName) => void;
  /** Asks for the ID of the cluster too. */
  readonly identify?: boolean | undefined;
}

/** Clusters that share credentials and connections, as those of one controller do. */
export class Prober {
  readonly #providers: CallProviders;
  readonly #timeoutMs: number;
  readonly #connections: Connections;
  readonly #stop = new AbortController();
  readonly #executables = new Map<string, Promise<Executable>>();
  /** What the library warns of, by profile. */
  readonly #warnings = new Map<string, string[]>();

  /** `timeoutMs` is the limit of one cluster, and so of its plugin's run. */
  constructor(providers: CallProviders, timeoutMs: number) {
    this.#providers = providers;
    this.#timeoutMs = timeoutMs;
    const logger = { warn: (fields: object, message: string) => this.#warned(fields, message) };
    // A provider file that changes in the meantime is of no interest.
    const settings = parseOptions({ ...providers.options, watchProviderFile: false, logger });
    const pluginTimeoutMs = Math.min(timeoutMs, settings.pluginTimeoutMs);
    this.#connections = new Connections({ ...settings, pluginTimeoutMs, signal: this.#stop.signal });
  }

  /** Never rejects. */
  async check(profile: Profile, { rights, signal, onStage, identify }: ProbeOptions): Promise<ClusterReport> {
    const name = profileName(profile);
    const stages: Stage[] = [];
    let isUnavailable = false;
    const facts: Facts = {};
    const timeoutMs = this.#timeoutMs;
    const deadline = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([signal, deadline]);
    const pass = async <T>(stage: StageName, work: () => Found<T> | Promise<Found<T>>): Promise<T> => {
      onStage?.(name, stage);
      const begin = performance.now();
      const took = () => Math.round((performance.now() - begin) * 1_000) / 1_000;
      try {
        const { message, warnings = [], skipped, failed, rights: decided, value } = await work();
        const result = failed ? 'failed' : skipped ? 'skipped' : warnings.length > 0 ? 'warning' : 'ok';
        stages.push({
          stage,
          result,
          milliseconds: took(),
          message,
          ...failed,
          warnings,
          ...(decided && { rights: decided }),
        });
        if (failed && stage === 'ready') isUnavailable = true;
        return value;
      } catch (error) {
        isUnavailable = error instanceof StageFailure && error.isUnavailable;
        const late = deadline.aborted && !signal.aborted && !(error instanceof PluginError);
        const why = late
          ? { message: `nothing came within ${timeoutMs / 1_000} s`, hint: 'see what hangs, or give it more --timeout' }
          : explain(error, name);
        stages.push({ stage, result: 'failed', milliseconds: took(), warnings: [], ...why });
        throw new Stopped();
      }
    };
    try {
      await this.#pass(profile, { name, rights, identify, signal: either, facts }, pass);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    return { profile: name, stages, isUnavailable, ...facts };
  }

  /** Ends plugins and connections. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#connections.close();
  }

  async #pass(profile: Profile, { name, rights, identify, signal, facts }: Asked, pass: Pass): Promise<void> {
    const { providers } = this.#providers;
    let refusal: ProfileError | undefined;
    const access = await pass('profile', () => {
      const found = tryToResolve(profile, providers);
      // The error says whether the profile or the provider's rules are at fault.
      if (found instanceof ProfileError && !isOfProvider(found)) throw found;
      if (found instanceof ProfileError) refusal = found;
      return { ...describeProfile(profile), value: found instanceof ProfileError ? undefined : found };
    });
    const { resolved, probe } = await pass('provider', () => {
      if (!access) throw refusal;
      return { ...describeAccess(access), value: { resolved: access, probe: this.#probe(name, access, signal) } };
    });
    try {
      await pass('plugin', async () => {
        const found = await probe.plugin(resolved, this.#providers.options.pluginPolicy?.policyType ?? 'AllowAll');
        return { ...found, warnings: [...(found.warnings ?? []), ...(this.#warnings.get(name) ?? [])] };
      });
      await pass('proxy', () => probe.proxy());
      await pass('connection', () => probe.connection());
      const identity = await pass('authentication', () => probe.authentication(resolved));
      await pass('identity', () => probe.identity(identity));
      facts.version = await pass('version', () => probe.version(profile));
      if (identify) facts.clusterId = await probe.clusterId().catch(() => undefined);
      await pass('ready', () => probe.ready());
      if (rights) await pass('permissions', () => probe.permissions(rights));
    } finally {
      await probe.close();
    }
  }

  #probe(name: string, access: ResolvedAccess, signal: AbortSignal): ClusterProbe {
    const configured = this.#providers.providers.find((provider) => provider.name === access.provider);
    return new ClusterProbe(this.#connections, destinationOf(name, access, configured), signal, (command) =>
      this.#find(command),
    );
  }

  /** Clusters share plugins. */
  #find(command: string): Promise<Executable> {
    const found = this.#executables.get(command) ?? findExecutable(command, process.env.PATH ?? '');
    this.#executables.set(command, found);
    return found;
  }

  #warned(fields: object, message: string): void {
    const profile: unknown = Reflect.get(fields, 'profile');
    if (typeof profile !== 'string') return;
    const said = this.#warnings.get(profile) ?? [];
    said.push(withoutProfile(message, profile));
    this.#warnings.set(profile, said);
  }
}

interface Facts {
  version?: string | undefined;
  clusterId?: string | undefined;
}
interface Asked extends Pick<ProbeOptions, 'rights' | 'identify' | 'signal'> {
  readonly name: string;
  readonly facts: Facts;
}
type Pass = <T>(stage: StageName, work: () => Found<T> | Promise<Found<T>>) => Promise<T>;

/** A stage failed, so the next ones are skipped. */
class Stopped extends Error {}

function describeProfile(profile: Profile): Omit<Found<void>, 'value'> {
  const { ready, message, reason } = controlPlaneReadiness({ metadata: emptyMetadata, ...profile, ...kind });
  if (ready === 'yes') {
    const isReported = reason !== 'NOT_REPORTED';
    return { message: isReported ? 'its control plane is reported as healthy' : 'its health is not reported' };
  }
  return {
    message: printable(`a fleet keeps it in NotReady: ${message}`, maxBytes),
    failed: { code: reason, hint: 'see what the cluster manager finds wrong; the next stages say what is' },
  };
}
const kind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' };
const emptyMetadata = { name: '', uid: '', resourceVersion: '' };

function describeAccess({ provider, cluster, ignored }: ResolvedAccess) {
  const warnings = ignored.map(({ path, reason }) => `${path} is not applied: ${reason}`);
  return { message: printable(`${provider}, ${cluster.server}`, maxBytes), warnings };
}

/** The most bytes of a text that the library did not write. */
const maxBytes = 1_024;

const timeoutHint = 'a plugin may take the lesser of --timeout and --clusterprofile-plugin-timeout';

/** Why a stage failed, without what its heading says already. */
function explain(error: unknown, profile: string): Pick<Stage, 'message' | 'code' | 'hint'> {
  if (error instanceof StageFailure) {
    const { code, hint } = error;
    const message = printable(error.message, maxBytes);
    return { message, ...(code === undefined ? {} : { code }), ...(hint === undefined ? {} : { hint }) };
  }
  if (error instanceof PluginError) {
    // The operator's hint on how to install it, and what it wrote on stderr.
    const [, ...lines] = error.message.split('\n');
    const hint = error.code === 'PLUGIN_TIMEOUT' ? { hint: timeoutHint } : {};
    return { message: [`${error.command}: ${error.reason}`, ...lines].join('\n'), code: error.code, ...hint };
  }
  if (error instanceof CredentialsError) {
    return { message: withoutProfile(error.message, profile), code: error.code };
  }
  return { message: redact(printable(error instanceof Error ? error.message : String(error), maxBytes)) };
}
