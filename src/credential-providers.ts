/**
 * The front door: what the operator configured comes in once, ClusterProfiles come in again and again, and a RestConfig
 * goes out for each. Everything that is cached belongs to one CredentialProviders, and ends with it.
 */
import { readFileSync } from 'node:fs';
import { type InspectOptions, inspect } from 'node:util';
import type { ClusterProfile } from './access/cluster-profile.ts';
import { type FlagValues, parseFlags, pickFlags } from './access/flags.ts';
import { type ConfiguredProvider, configureProviders, type Provider } from './access/provider.ts';
import { parseProviderFile } from './access/provider-file.ts';
import { profileName, type ResolvedAccess, resolve } from './access/resolve.ts';
import { ConfigurationError, RequestError } from './errors.ts';
import { toExecCluster } from './exec/exec-credential.ts';
import type { PluginCall } from './exec/plugin.ts';
import { type CredentialProvidersOptions, parseOptions } from './options.ts';
import { Connections } from './rest/connections.ts';
import { RestConfig } from './rest/rest-config.ts';

/**
 * Gives a multicluster controller its credentials (KEP-5339).
 *
 * @example
 * const providers = CredentialProviders.fromArgs(process.argv);
 * const config = providers.getConfig(clusterProfile);
 * await config.makeApiClient(CoreV1Api).listNamespace();
 */
export class CredentialProviders {
  readonly #providers: readonly ConfiguredProvider[];
  readonly #connections: Connections;
  readonly #stop = new AbortController();

  /** Throws a `ConfigurationError` that names every problem of the providers or the options. */
  constructor(providers: readonly Provider[], options: CredentialProvidersOptions = {}) {
    const configured = providersWithVersions.get(providers) ?? configureProviders(providers);
    this.#providers = configured;
    this.#connections = new Connections({ ...parseOptions(options), signal: this.#stop.signal });
  }

  /** From the values that `parseArgs({ options: flagOptions })` of `node:util` returns. Other flags may stand beside. */
  static fromFlags(values: FlagValues, options: CredentialProvidersOptions = {}): CredentialProviders {
    const { providers, providerFile } = parseFlags(values);
    const all = [...providers, ...(providerFile === undefined ? [] : readProviderFile(providerFile))];
    const twice = providers.filter(({ name }) => all.filter((other) => other.name === name).length > 1);
    if (twice.length > 0) {
      throw new ConfigurationError(
        'FLAG_INVALID',
        'flags',
        twice.map(({ name }) => ({
          path: `--clusterprofile-access-provider "${name}=..."`,
          message: `"${name}" is configured in ${providerFile} too: keep one of the two`,
        })),
      );
    }
    return new CredentialProviders(asProviders(all), options);
  }

  /** From a whole argv: picks its own flags out and leaves every other argument alone. */
  static fromArgs(argv: readonly string[], options: CredentialProvidersOptions = {}): CredentialProviders {
    return CredentialProviders.fromFlags(pickFlags(argv), options);
  }

  /** From a provider file, JSON or YAML. */
  static fromFile(path: string, options: CredentialProvidersOptions = {}): CredentialProviders {
    return new CredentialProviders(asProviders(readProviderFile(path)), options);
  }

  /** The access types that are configured, in the order in which they are tried. */
  get accessTypes(): readonly string[] {
    return this.#providers.map(({ name }) => name);
  }

  /** Which provider serves a profile, and with what. Pure: nothing runs. Throws a `ProfileError`. */
  resolve(profile: ClusterProfile): ResolvedAccess {
    return resolve(profile, this.#providers);
  }

  /**
   * A config for the profile's cluster. Synchronous and cheap: the plugin runs with the first request, and equal inputs
   * share one connection pool and one credential however often this is called. Throws a `ProfileError`.
   */
  getConfig(profile: ClusterProfile): RestConfig {
    if (this.#connections.closed) throw new RequestError('CONFIG_CLOSED', 'the CredentialProviders have been closed');
    const access = this.resolve(profile);
    this.#connections.sweep();
    return new RestConfig({
      name: profileName(profile),
      user: access.provider,
      access,
      destination: { cluster: access.cluster, call: this.#pluginCall(access) },
      connections: this.#connections,
    });
  }

  /** Ends every request, plugin run and connection of every config. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#connections.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What is kept now, for logs: `CredentialProviders { accessTypes, connections, sources }`. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `CredentialProviders ${inspect({ accessTypes: this.accessTypes, ...this.#connections.size }, options)}`;
  }

  #pluginCall({ provider, cluster, exec }: ResolvedAccess): PluginCall {
    const acceptedVersions = this.#providers.find(({ name }) => name === provider)?.acceptedVersions ?? [
      exec.apiVersion,
    ];
    const execCluster = exec.provideClusterInfo ? toExecCluster(cluster, exec.config) : undefined;
    return { provider, origin: `access provider ${provider}`, exec, acceptedVersions, cluster: execCluster };
  }
}

/** Providers that have been validated already, on their way through the public constructor. */
const providersWithVersions = new WeakMap<readonly Provider[], readonly ConfiguredProvider[]>();

function asProviders(configured: readonly ConfiguredProvider[]): readonly Provider[] {
  const providers: readonly Provider[] = [...configured];
  providersWithVersions.set(providers, configured);
  return providers;
}

function readProviderFile(path: string): readonly ConfiguredProvider[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const message =
      code === 'ENOENT' ? 'does not exist: correct the path, or mount the file' : `cannot be read (${code})`;
    throw new ConfigurationError('PROVIDER_FILE_UNREADABLE', `provider file ${path}`, [{ path: '', message }]);
  }
  return parseProviderFile(text, path);
}
