/** Checks one cluster, stage by stage, with the same code as a controller: rules, plugin runs, proxies, TLS and credentials. */
import type { FlaggedOptions } from '../access/flags.ts';
import type { ConfiguredProvider } from '../access/provider-schema.ts';
import { profileName, type ResolvedAccess } from '../access/resolve.ts';
import { CredentialsError, PluginError, ProfileError } from '../errors/index.ts';
import { controlPlaneReadiness } from '../fleet/membership/readiness.ts';
import { parseOptions } from '../options/options.ts';
import { redact } from '../redaction/known-secrets.ts';
import { Connections } from '../rest/transport/connections.ts';
import { printable } from '../util/printable.ts';
import { ClusterProbe, type ProbeOptions } from './cluster-probe.ts';
import { destinationOf } from './plugin-run.ts';
import { isOfProvider, type Profile, tryToResolve, withoutProfile } from './profile.ts';
import { type ClusterReport, type Found, type Stage, StageFailure, type Step } from './stages.ts';

/** The providers of a controller, and what its flags set. */
export interface CallProviders {
  readonly providers: readonly ConfiguredProvider[];
  /** The options that flags set, such as `cleanEnvironment` and `pluginPolicy`. */
  readonly options: FlaggedOptions;
}

/** Clusters that share credentials and connections, as those of one controller do. */
export class Prober {
  readonly #providers: CallProviders;
  readonly #timeoutMs: number;
  readonly #connections: Connections;
  readonly #stop = new AbortController();
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
  async check(profile: Profile, options: ProbeOptions): Promise<ClusterReport> {
    const { signal, onStage } = options;
    const name = profileName(profile);
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    const { providers, options: flagged } = this.#providers;
    const access = tryToResolve(profile, providers);
    const destination = access instanceof ProfileError ? undefined : destinationOf(name, access, providers);
    const either = AbortSignal.any([signal, deadline]);
    const probe = destination && new ClusterProbe(this.#connections, destination, either);
    const steps: readonly Step[] = [
      ['profile', () => describeProfile(profile, access)],
      ['provider', () => describeAccess(access)],
      ...(probe?.stages(profile, flagged.pluginPolicy?.policyType ?? 'AllowAll', options) ?? []),
    ];
    const stages: Stage[] = [];
    let isUnavailable = false;
    for (const [stage, look] of steps) {
      onStage?.(name, stage);
      const begin = performance.now();
      const took = () => Math.round((performance.now() - begin) * 1_000) / 1_000;
      try {
        const { message, skipped, failed, rights, warnings: found = [] } = await look();
        const warnings = stage === 'plugin' ? [...found, ...(this.#warnings.get(name) ?? [])] : found;
        const result = failed ? 'failed' : skipped ? 'skipped' : warnings.length > 0 ? 'warning' : 'ok';
        const outcome = { message, ...failed, warnings, ...(rights && { rights }) };
        stages.push({ stage, result, milliseconds: took(), ...outcome });
        if (failed && stage === 'ready') isUnavailable = true;
      } catch (error) {
        isUnavailable = error instanceof StageFailure && error.isUnavailable;
        const late = deadline.aborted && !signal.aborted && !(error instanceof PluginError);
        const why = late ? nothingWithin(this.#timeoutMs) : explain(error, name);
        stages.push({ stage, result: 'failed', milliseconds: took(), warnings: [], ...why });
        // The next stages are skipped.
        break;
      }
    }
    await probe?.close();
    return { profile: name, stages, isUnavailable, ...probe?.facts };
  }

  /** Ends plugins and connections. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#connections.close();
  }

  #warned(fields: object, message: string): void {
    const profile: unknown = Reflect.get(fields, 'profile');
    if (typeof profile !== 'string') return;
    const said = this.#warnings.get(profile) ?? [];
    said.push(withoutProfile(message, profile));
    this.#warnings.set(profile, said);
  }
}

function describeProfile(profile: Profile, access: ResolvedAccess | ProfileError): Found {
  // The error says whether the profile or the provider's rules are at fault.
  if (access instanceof ProfileError && !isOfProvider(access)) throw access;
  const { ready, message, reason } = controlPlaneReadiness(profile);
  if (ready === 'yes') {
    const isReported = reason !== 'NOT_REPORTED';
    return { message: isReported ? 'its control plane is reported as healthy' : 'its health is not reported' };
  }
  return {
    message: printable(`a fleet keeps it in NotReady: ${message}`, maxBytes),
    failed: { code: reason, hint: 'see what the cluster manager finds wrong; the next stages say what is' },
  };
}

function describeAccess(access: ResolvedAccess | ProfileError): Found {
  if (access instanceof ProfileError) throw access;
  const { provider, cluster, ignored } = access;
  const warnings = ignored.map(({ path, reason }) => `${path} is not applied: ${reason}`);
  return { message: printable(`${provider}, ${cluster.server}`, maxBytes), warnings };
}

/** The most bytes of a text that the library did not write. */
const maxBytes = 1_024;

const nothingWithin = (timeoutMs: number) => ({
  message: `nothing came within ${timeoutMs / 1_000} s`,
  hint: 'see what hangs, or give it more --timeout',
});

const timeoutHint = 'a plugin may take the lesser of --timeout and --clusterprofile-plugin-timeout';

/** Why a stage failed, without what its heading says already. */
function explain(error: unknown, profile: string): Pick<Stage, 'message' | 'code' | 'hint'> {
  if (error instanceof StageFailure) {
    return { message: printable(error.message, maxBytes), code: error.code, hint: error.hint };
  }
  if (error instanceof PluginError) {
    // The operator's hint on how to install it, and what it wrote on stderr.
    const [, ...lines] = error.message.split('\n');
    const hint = error.code === 'PLUGIN_TIMEOUT' ? timeoutHint : undefined;
    return { message: [`${error.command}: ${error.reason}`, ...lines].join('\n'), code: error.code, hint };
  }
  if (error instanceof CredentialsError) {
    return { message: withoutProfile(error.message, profile), code: error.code };
  }
  return { message: redact(printable(error instanceof Error ? error.message : String(error), maxBytes)) };
}
