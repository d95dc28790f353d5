/** The providers that an operator configured, as one list, and where a profile leads with one of them. */
import { readFileSync } from 'node:fs';
import { type ConfiguredProvider, hardeningProblems, parseProviderFile } from '../access/provider-schema.ts';
import type { ResolvedAccess } from '../access/resolve.ts';
import { pathBounds } from '../access/url-pattern.ts';
import { ConfigurationError } from '../errors/index.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import type { PluginCall } from '../exec/plugin-call.ts';
import type { Destination } from '../rest/transport/connection.ts';
import { errnoOf } from '../util/guards.ts';

/** A provider file and its content. */
export interface ProviderFile {
  readonly path: string;
  readonly text: string;
}

/** Validated providers, and where they come from. */
export class Configured {
  readonly providers: readonly ConfiguredProvider[];
  /** Those from flags or from code, which a reload of the file does not change. */
  readonly fixed: readonly ConfiguredProvider[];
  readonly file: ProviderFile | undefined;

  /**
   * @param path - of the provider file
   * @throws {ConfigurationError}
   */
  constructor(fixed: readonly ConfiguredProvider[], path: string | undefined) {
    this.fixed = fixed;
    this.file = path === undefined ? undefined : readProviderFile(path);
    this.providers = joinProviders(fixed, this.file);
  }
}

/**
 * Joins the providers of the flags, which come first, and those of the file.
 * @throws {ConfigurationError}
 */
export function joinProviders(
  fixed: readonly ConfiguredProvider[],
  file: ProviderFile | undefined,
): readonly ConfiguredProvider[] {
  if (!file) return fixed;
  const { path, text } = file;
  const fromFile = parseProviderFile(text, path);
  const twice = fixed.filter(({ name }) => fromFile.some((other) => other.name === name));
  if (twice.length === 0) return [...fixed, ...fromFile];
  throw new ConfigurationError(
    'FLAG_INVALID',
    'flags',
    twice.map(({ name }) => ({
      path: `--clusterprofile-access-provider "${name}=..."`,
      message: `"${name}" is configured in ${path} too: keep one of the two`,
    })),
  );
}

/** @throws {ConfigurationError} */
export function readProviderFile(path: string): ProviderFile {
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    throw unreadableProviderFile(path, errnoOf(error));
  }
}

export function unreadableProviderFile(path: string, code: string): ConfigurationError {
  const message =
    code === 'ENOENT' ? 'does not exist: correct the path, or mount the file' : `cannot be read (${code})`;
  return new ConfigurationError('PROVIDER_FILE_INVALID', `provider file ${path}`, [{ path: '', message }]);
}

/**
 * Checks that the providers have what `hardened` requires. `where` opens the message.
 * @throws {ConfigurationError}
 */
export function checkHardened(providers: readonly ConfiguredProvider[], where: string): void {
  const problems = hardeningProblems(providers);
  if (problems.length > 0) throw new ConfigurationError('PROVIDER_INVALID', where, problems);
}

/** `profile` is `namespace/name`; `providers` are those that the access was resolved with. */
export function toDestination(
  profile: string,
  { provider, cluster, exec }: ResolvedAccess,
  providers: readonly ConfiguredProvider[],
): Destination & { readonly call: PluginCall } {
  const { acceptedVersions, execConfig, allowedServers } = providers.find(({ name }) => name === provider) ?? {};
  return {
    name: `ClusterProfile ${profile}`,
    profile,
    cluster,
    provider,
    call: {
      provider,
      origin: `access provider ${provider}`,
      exec,
      configured: execConfig ?? exec,
      acceptedVersions,
      cluster: exec.provideClusterInfo ? toExecCluster(cluster, exec.config) : undefined,
    },
    pathBounds: pathBounds(allowedServers, cluster.server),
  };
}
