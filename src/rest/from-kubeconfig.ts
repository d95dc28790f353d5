import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type KubeconfigAccess, parseKubeconfig } from '../access/kubeconfig.ts';
import { nearest } from '../access/nearest.ts';
import { ConfigurationError } from '../errors.ts';
import { toExecCluster } from '../exec/exec-credential.ts';
import { StaticCredentials } from '../exec/static-credentials.ts';
import { type CredentialProvidersOptions, parseOptions } from '../options.ts';
import type { Destination } from './connection.ts';
import { Connections } from './connections.ts';

/** Where a kubeconfig is: a file, or its text with the folder that relative paths in it start from. */
export type KubeconfigSource =
  | { readonly path: string }
  | { readonly text: string; readonly directory?: string | undefined };

/** Options of `RestConfig.fromKubeConfig`: a context, and those of `CredentialProviders`. */
export interface KubeconfigOptions extends Omit<CredentialProvidersOptions, 'watchProviderFile' | 'onChange'> {
  /** Default: the kubeconfig's `current-context`. */
  readonly context?: string | undefined;
}

/** @internal What a RestConfig is made of. */
export interface KubeconfigParts {
  readonly name: string;
  readonly user: string;
  readonly access: KubeconfigAccess['access'];
  readonly destination: Destination;
  readonly connections: Connections;
}

/** @internal Reads a kubeconfig. Throws a `ConfigurationError`. */
export function readKubeconfig(source: KubeconfigSource, options: KubeconfigOptions): KubeconfigParts {
  const { context, ...others } = options;
  const settings = parseOptions(others);
  const watching = ['watchProviderFile', 'onChange'] as const;
  const problems = watching.filter((name) => settings[name]);
  if (problems.length > 0) {
    const message = 'is for provider files: a kubeconfig is read once';
    const each = problems.map((path) => ({ path, message }));
    throw new ConfigurationError('OPTION_INVALID', 'options', each);
  }
  const { text, directory, where } = readSource(source);
  if (context !== undefined && typeof context !== 'string') {
    throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'context', message: 'must be a name' }]);
  }
  const parsed = parseKubeconfig({ text, directory, where, context }, (path) => readFileSync(path));
  const { access, staticUser, impersonation, proxyUrl, user } = parsed;
  const { provider, cluster, exec } = access;
  // The plugin may need the proxy's login, as client-go gives it.
  const withLogin = proxyUrl === undefined ? cluster : { ...cluster, proxyUrl };
  const call = {
    provider,
    origin: `${where}, user ${user}`,
    exec,
    acceptedVersions: [exec.apiVersion],
    cluster: exec.provideClusterInfo ? toExecCluster(withLogin, exec.config) : undefined,
  };
  return {
    name: parsed.context,
    user,
    access,
    destination: {
      cluster,
      call,
      impersonation,
      ...(proxyUrl === undefined ? {} : { proxyUrl }),
      ...(staticUser ? { supply: new StaticCredentials(call.origin, staticUser, settings) } : {}),
    },
    connections: new Connections({ ...settings, signal: new AbortController().signal }),
  };
}

function readSource(source: KubeconfigSource): { text: string; directory: string | undefined; where: string } {
  const fields: readonly string[] = Object.keys(source);
  const unknown = fields.filter((field) => !['path', 'text', 'directory'].includes(field));
  const problems = unknown.map((field) => {
    const meant = nearest(field, ['path', 'text', 'directory']);
    const hint = meant ? ` (did you mean ${meant}?)` : '';
    return { path: field, message: `is not a field of the source${hint}; context and options are the second argument` };
  });
  if (fields.includes('path') === fields.includes('text')) {
    problems.push({ path: '', message: 'must be { path } or { text, directory }' });
  }
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'fromKubeConfig', problems);
  if ('text' in source) {
    return { text: source.text, directory: source.directory && resolve(source.directory), where: 'kubeconfig' };
  }
  const path = resolve(source.path);
  const where = `kubeconfig ${path}`;
  try {
    return { text: readFileSync(path, 'utf8'), directory: dirname(path), where };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const message = code === 'ENOENT' ? 'does not exist: correct the path' : `cannot be read (${code})`;
    throw new ConfigurationError('KUBECONFIG_UNREADABLE', where, [{ path: '', message }]);
  }
}
