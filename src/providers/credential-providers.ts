/**
 * The main class: it takes the operator's configuration once, and returns a RestConfig for each ClusterProfile. Every cache belongs to
 * one CredentialProviders, and ends with it.
 */
import { type InspectOptions, inspect, isDeepStrictEqual } from 'node:util';
import type { ClusterProfile, Ignored } from '../access/cluster-profile.ts';
import { type FlagValues, parseFlags, pickFlags, switches } from '../access/flags.ts';
import type { Provider } from '../access/provider.ts';
import { type ConfiguredProvider, configureProviders } from '../access/provider-schema.ts';
import { printedWithoutValues, profileName, type ResolvedAccess, resolve } from '../access/resolve.ts';
import { ConfigurationError, checkArgument, ProfileError, RequestError } from '../errors/index.ts';
import { callSafely } from '../observability/callbacks.ts';
import type { Logger } from '../observability/logger.ts';
import { emit, isRefusal, type Observer } from '../observability/telemetry.ts';
import { type CredentialProvidersOptions, parseOptions } from '../options/options.ts';
import { RestConfig } from '../rest/rest-config.ts';
import { Connections, providersClosed } from '../rest/transport/connections.ts';
import { codeFieldOf, isFunction, isObject, isText, isTexts } from '../util/guards.ts';
import { watchFile } from '../util/watch-file.ts';
import { type GetConfigOptions, readConfigOptions } from './config-options.ts';
import {
  Configured,
  checkHardened,
  joinProviders,
  type ProviderFile,
  toDestination,
  unreadableProviderFile,
} from './configured-providers.ts';

/** The access types that a new provider file changes. Call `getConfig` again for configs of those changed or removed. */
export interface ProviderFileChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Gives a multicluster controller its credentials (KEP-4322, formerly KEP-5339).
 *
 * @example
 * const providers = CredentialProviders.fromArgs(process.argv);
 * const config = providers.getConfig(clusterProfile);
 * await config.makeApiClient(CoreV1Api).listNamespace();
 */
export class CredentialProviders {
  #providers: readonly ConfiguredProvider[];
  readonly #connections: Connections;
  readonly #observer: Observer | undefined;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(change: ProviderFileChange) => void>();

  /** @throws {ConfigurationError} that names every problem of the providers or the options */
  constructor(providers: readonly Provider[], options?: CredentialProvidersOptions);
  /** @internal For the static methods: their providers have been validated, and some come from a file. */
  constructor(configured: Configured, options?: CredentialProvidersOptions);
  constructor(given: readonly Provider[] | Configured, options: CredentialProvidersOptions = {}) {
    const configured = given instanceof Configured ? given : new Configured(configureProviders(given), undefined);
    const { providers, fixed, file } = configured;
    this.#providers = providers;
    const settings = parseOptions(options);
    if (settings.hardened) checkHardened(providers, 'providers');
    warnOfNone(providers, file?.path, settings.logger);
    this.#connections = new Connections({ ...settings, signal: this.#stop.signal });
    this.#observer = settings.metrics?.observer;
    if (!settings.watchProviderFile) return;
    if (!file) {
      const message =
        'there is no provider file to watch: use fromFile, or fromFlags with --clusterprofile-provider-file';
      throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'watchProviderFile', message }]);
    }
    this.#watch(file, fixed, settings);
  }

  /**
   * Reads the values that `parseArgs({ options: flagOptions })` of `node:util` returns. Other flags may be among them.
   *
   * @throws {ConfigurationError} that names every bad flag, provider and option
   */
  static fromFlags(values: FlagValues, options: CredentialProvidersOptions = {}): CredentialProviders {
    checkArgument('CredentialProviders.fromFlags', 'values', values, isObject, 'the values that parseArgs returns');
    checkArgument('CredentialProviders.fromFlags', 'options', options, isObject, 'an object');
    return fromParsedFlags(parseFlags(values), options);
  }

  /**
   * Picks its own flags from a whole argv, and ignores every other argument. An unknown flag that begins with `--clusterprofile-` is an
   * error.
   *
   * @throws {ConfigurationError} that names every bad flag, provider and option
   */
  static fromArgs(argv: readonly string[], options: CredentialProvidersOptions = {}): CredentialProviders {
    checkArgument('CredentialProviders.fromArgs', 'argv', argv, isTexts, 'a list of texts, such as process.argv');
    checkArgument('CredentialProviders.fromArgs', 'options', options, isObject, 'an object');
    const { values, problems } = pickFlags(argv);
    return fromParsedFlags(parseFlags(values, problems), options);
  }

  /**
   * Reads a provider file, JSON or YAML.
   *
   * @throws {ConfigurationError} that names every problem of the file and the options
   */
  static fromFile(path: string, options: CredentialProvidersOptions = {}): CredentialProviders {
    checkArgument('CredentialProviders.fromFile', 'path', path, isText, 'the path of a provider file');
    return new CredentialProviders(new Configured([], path), options);
  }

  /** The configured access types, in the order in which they are tried. */
  get accessTypes(): readonly string[] {
    return this.#providers.map(({ name }) => name);
  }

  /** With `watchProviderFile`: calls `listener` when a changed file has taken effect. Dispose of the result to stop. */
  onChange(listener: (change: ProviderFileChange) => void): Disposable {
    checkArgument('providers.onChange', 'listener', listener, isFunction, 'a function');
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Returns which provider serves a profile, and how. Pure: nothing runs. The result is plain JSON with the values of the configured
   * variables; `inspect` shows them as `[redacted]`.
   *
   * @throws {ProfileError}
   */
  resolve(profile: ClusterProfile): ResolvedAccess {
    return printedWithoutValues(resolve(profile, this.#providers), { json: false });
  }

  /**
   * Returns a config for the profile's cluster. Synchronous and cheap: the plugin runs with the first request, and equal inputs share
   * one connection pool and one credential, whomever they impersonate.
   *
   * @throws {ProfileError}
   * @throws {ConfigurationError} `OPTION_INVALID`
   * @throws {RequestError} `CONFIG_CLOSED` after `close`
   */
  getConfig(profile: ClusterProfile, options: GetConfigOptions = {}): RestConfig {
    const name = profileName(profile);
    if (this.#connections.closed) {
      throw new RequestError('CONFIG_CLOSED', `ClusterProfile ${name}: ${providersClosed}`);
    }
    const { impersonate: impersonation, preview } = readConfigOptions(options);
    const access = this.#resolveAudited(profile);
    this.#warnIgnored(name, access);
    const resolvedWith = this.#find(access);
    const isCurrent = () => this.#find(access) === resolvedWith;
    return RestConfig.create({
      name,
      user: access.provider,
      access,
      destination: { ...toDestination(name, access, this.#providers), isCurrent, impersonation },
      preview,
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

  /** The number of connections and sources, for logs: `CredentialProviders { accessTypes, connections, sources }`. */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `CredentialProviders ${inspect({ accessTypes: this.accessTypes, ...this.#connections.size }, options)}`;
  }

  /** Makes attacks visible: a profile that breaks a rule is counted and reported. */
  #resolveAudited(profile: ClusterProfile): ResolvedAccess {
    try {
      return resolve(profile, this.#providers);
    } catch (error) {
      if (error instanceof ProfileError && isRefusal(error.code)) {
        const { provider = '', code, path } = error;
        emit(this.#observer, 'access-refused', { provider, profile: error.profile, code, path });
      }
      throw error;
    }
  }

  /** Warns why a setting of a profile is not applied: once, not at each reconcile. */
  #warnIgnored(profile: string, { provider, ignored, cluster: { server } }: ResolvedAccess): void {
    const { warnings } = this.#connections.options;
    const subject = { name: profile, fields: { profile, server, provider } };
    const toWarning = ({ path, reason }: Ignored) => {
      const message = `ClusterProfile ${profile}, ${server}: ${path} is not applied: ${reason}`;
      return { key: `${path} ${reason}`, message };
    };
    warnings.set(subject, 'ignored', ignored.map(toWarning));
  }

  /** The provider of that name, if it is still configured. */
  #find({ provider }: ResolvedAccess): ConfiguredProvider | undefined {
    return this.#providers.find(({ name }) => name === provider);
  }

  #watch(file: ProviderFile, fixed: readonly ConfiguredProvider[], { logger, hardened }: Settings): void {
    const { path } = file;
    const stop = watchFile(path, file.text, (reading) => {
      let next: readonly ConfiguredProvider[];
      try {
        if ('code' in reading) throw unreadableProviderFile(path, reading.code);
        next = joinProviders(fixed, { path, text: reading.text });
        if (hardened) checkHardened(next, `provider file ${path}`);
      } catch (error) {
        const message = error instanceof Error ? error.message : 'cannot be read';
        logger.warn({ file: path, ...codeFieldOf(error) }, `${message}; the previous providers stay in use`);
        return;
      }
      const change = this.#replaceProviders(next);
      if (!change) return;
      warnOfNone(next, path, logger);
      for (const listener of this.#listeners) {
        const notify = () => listener(change);
        callSafely('a listener of onChange', notify, (message, fields) => logger.warn({ path, ...fields }, message));
      }
    });
    this.#stop.signal.addEventListener('abort', stop, { once: true });
  }

  /** Unchanged providers keep their identity, and with it their live configs. */
  #replaceProviders(next: readonly ConfiguredProvider[]): ProviderFileChange | undefined {
    const before = new Map(this.#providers.map((provider) => [provider.name, provider]));
    const names = new Set(next.map(({ name }) => name));
    const isSame = (provider: ConfiguredProvider) => isDeepStrictEqual(before.get(provider.name), provider);
    const changed = next.filter((provider) => before.has(provider.name) && !isSame(provider)).map(({ name }) => name);
    const added = next.filter(({ name }) => !before.has(name)).map(({ name }) => name);
    const removed = [...before.keys()].filter((name) => !names.has(name));
    this.#providers = next.map((provider) => (isSame(provider) ? (before.get(provider.name) ?? provider) : provider));
    if (changed.length + added.length + removed.length === 0) return undefined;
    this.#connections.drop(new Set([...changed, ...removed]));
    return { added, changed, removed };
  }
}

/** Without providers nothing works, and no error would appear before the first profile. */
function warnOfNone(providers: readonly ConfiguredProvider[], file: string | undefined, logger: Logger): void {
  if (providers.length > 0) return;
  const what =
    file === undefined ? 'no access provider is configured' : `provider file ${file} configures no access provider`;
  const how = 'give --clusterprofile-access-provider, or list providers in --clusterprofile-provider-file';
  logger.warn({ file }, `${what}, so every ClusterProfile is refused with NO_MATCHING_PROVIDER: ${how}`);
}

/** A flag overrides the program's own option, but cannot turn off what the program turned on. */
function fromParsedFlags(
  { providers, providerFile, options: flagged }: ReturnType<typeof parseFlags>,
  options: CredentialProvidersOptions,
): CredentialProviders {
  const problems = Object.entries(switches).flatMap(([flag, option]) =>
    flagged[option] === false && options[option]
      ? [{ path: `--${flag}=false`, message: `the program sets ${option} itself: leave the flag out` }]
      : [],
  );
  if (flagged.pluginPolicy && options.pluginPolicy) {
    const message = 'the program sets pluginPolicy itself: leave the flag out';
    problems.push({ path: '--clusterprofile-plugin-policy', message });
  }
  if (problems.length > 0) throw new ConfigurationError('FLAG_INVALID', 'flags', problems);
  return new CredentialProviders(new Configured(providers, providerFile), { ...options, ...flagged });
}

type Settings = ReturnType<typeof parseOptions>;
