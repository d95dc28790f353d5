/** What Docker's tools call a registry, and what a kubelet's plugins call it. Pure. */
import { ImageError } from '../errors/index.ts';
import { hubServerUrl } from './docker-config.ts';
import { registryPath } from './image-name.ts';

/** Docker Hub's hosts. */
const hubHosts: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/**
 * The names of the registry that a server URL means, in the order in which to ask for them. Each name is as good as another.
 * `https://R.io:443/v2/` is `R.io:443`, and `r.io`, which are the same server. A repository without a scheme (`r.io/team/app`,
 * as crane asks) stays one. Empty if the URL is not of a registry: Docker keeps its own tokens under `https://index.docker.io/v1/...`.
 * Throws an `ImageError` for what cannot be a server.
 */
export function registriesOf(serverUrl: string): readonly string[] {
  const [, scheme, authority = '', rest = ''] = /^(?:(https?):\/\/)?([^/]*)(.*)$/is.exec(serverUrl) ?? [];
  const [, host = '', port = ''] = /^(.*?)(?::(\d+))?$/s.exec(authority) ?? [];
  const lowered = host.toLowerCase();
  const usual = scheme?.toLowerCase() === 'http' ? '80' : '443';
  const isUsual = port === '' || port === usual;
  const path = pathOf(rest, scheme !== undefined);
  const isHub = hubHosts.has(lowered) && isUsual;
  // A path below /v1/ there is not a repository.
  if (isHub && scheme !== undefined && /^\/v1\/./.test(rest)) return [];
  const hosts = isHub ? ['docker.io'] : [...new Set([host, lowered])];
  // A pattern may have the default port, or leave it out.
  const ports = isHub ? [''] : isUsual ? [...new Set([port, '', usual])] : [port];
  const names = hosts.flatMap((name) => ports.map((number) => `${name}${number === '' ? '' : `:${number}`}${path}`));
  return names.map((name) => {
    try {
      return registryPath(name);
    } catch {
      // As it was given.
      throw new ImageError(serverUrl, 'is not the URL of a registry: write https://registry.example.dev or the like');
    }
  });
}

/** Without the API's version, which is part of a URL and not of a repository. */
function pathOf(path: string, isUrl: boolean): string {
  if (/^\/v[12]\/?$/.test(path) && (isUrl || path.endsWith('/'))) return '';
  const withoutVersion = isUrl ? path.replace(/^\/v[12]\//, '/') : path;
  return withoutVersion.replace(/\/$/, '');
}

/** What Docker's tools call the registry of a pattern. */
export function serverUrlOf(registry: string): string {
  return registryPath(registry) === 'docker.io' ? hubServerUrl : registry;
}
