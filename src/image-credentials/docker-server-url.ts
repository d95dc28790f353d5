/** What Docker's tools call a registry, and what a kubelet's plugins call it. Pure. */
import { ImageError } from '../errors/index.ts';
import { hubServerUrl } from './docker-config.ts';
import { registryPath } from './image-name.ts';

/** Docker Hub's hosts. */
const hubHosts: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/**
 * The registries that a server URL may mean, the likeliest first: `https://r.io:443/v2/` is `r.io`, or `r.io:443` as images may name it.
 * A repository without a scheme (`r.io/team/app`, as crane asks) stays one. None if the URL is not of a registry: Docker keeps its own
 * tokens under `https://index.docker.io/v1/...`. Throws an `ImageError` for what cannot be a server.
 */
export function registriesOfServer(serverUrl: string): readonly string[] {
  const [, scheme, authority = '', rest = ''] = /^(?:(https?):\/\/)?([^/]*)(.*)$/is.exec(serverUrl) ?? [];
  const usualPort = scheme?.toLowerCase() === 'http' ? ':80' : ':443';
  const lowered = authority.toLowerCase();
  const hasUsualPort = lowered.endsWith(usualPort) && !/:\d+:\d+$/.test(lowered);
  const host = hasUsualPort ? lowered.slice(0, lowered.length - usualPort.length) : lowered;
  const isHub = hubHosts.has(host);
  // A path below /v1/ there is not a repository.
  if (isHub && scheme !== undefined && /^\/v1\/./.test(rest)) return [];
  try {
    const hosts = isHub ? ['docker.io'] : [...new Set([host, lowered])];
    return hosts.map((name) => registryPath(`${name}${pathOf(rest, scheme !== undefined)}`));
  } catch {
    // As it was given.
    throw new ImageError(serverUrl, 'is not the URL of a registry: write https://registry.example.dev or the like');
  }
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
