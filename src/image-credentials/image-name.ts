import { ImageError } from '../errors/index.ts';

/** One part of a repository's path. */
const pathPart = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const hostPart = /^(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])$/;

/**
 * The repository of an image's name: with its registry, without tag and digest. Plugins and patterns see nothing else.
 * `nginx:1` is `docker.io/library/nginx`. Throws an `ImageError`.
 */
export function repositoryOf(image: string): string {
  const fail = (message: string): never => {
    throw new ImageError(image, message);
  };
  if (typeof image !== 'string') return fail('is not the name of an image');
  const [beforeDigest = '', digest, ...more] = image.split('@');
  if (more.length > 0 || (digest !== undefined && !isDigest(digest))) fail('has an invalid digest');
  const slash = beforeDigest.lastIndexOf('/');
  const colon = beforeDigest.indexOf(':', slash + 1);
  const tag = colon < 0 ? undefined : beforeDigest.slice(colon + 1);
  if (tag !== undefined && !/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/.test(tag)) fail('has an invalid tag');
  const name = colon < 0 ? beforeDigest : beforeDigest.slice(0, colon);
  if (/^[a-f0-9]{64}$/.test(name)) fail('is the identifier of an image, not its name');
  const [first = '', ...rest] = name.split('/');
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const registry = hasRegistry && !isDockerHub(first) ? first : 'docker.io';
  const path = hasRegistry ? rest : [first, ...rest];
  if (!isRegistry(registry)) fail('has a registry that is not a host with an optional port');
  if (path.join('/') !== path.join('/').toLowerCase()) fail('has capital letters in its repository');
  if (!path.every((part) => pathPart.test(part))) fail('is not the name of an image');
  const whole = registry === 'docker.io' && path.length === 1 ? ['library', ...path] : path;
  // The path alone, as the kubelet counts.
  if (whole.join('/').length > 255) fail('has a repository of more than 255 characters');
  return `${registry}/${whole.join('/')}`;
}

function isDigest(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/.test(text);
}

function isRegistry(text: string): boolean {
  const [, host = '', port] = /^(\[[0-9a-fA-F:]+\]|[^:[\]]*)(?::(\d+))?$/.exec(text) ?? [];
  return (
    (port === undefined || port !== '') &&
    (host.startsWith('[') || (host !== '' && host.split('.').every((part) => hostPart.test(part))))
  );
}

/**
 * A registry, or the beginning of its repositories' names: `registry.io:5000/team`. Docker Hub is always `docker.io`, by whichever
 * of its names it was given. Throws an `ImageError`.
 */
export function registryPath(registry: string): string {
  const fail = (message: string): never => {
    throw new ImageError(registry, `${message}: write registry.example.dev, with :port and /path where there are any`);
  };
  if (typeof registry !== 'string' || registry === '') return fail('is not the name of a registry');
  if (registry.includes('://')) fail('has a scheme, which the name of a registry has not');
  const [host = '', ...path] = registry.replace(/\/$/, '').split('/');
  if (!isRegistry(host)) fail('is not a host with an optional port');
  if (!path.every((part) => pathPart.test(part))) fail('has a path that no repository has');
  return [isDockerHub(host) ? 'docker.io' : host, ...path].join('/');
}

/** Whether an image or a registry is of Docker Hub. The key `index.docker.io` is for these. */
export function isDockerHub(image: string): boolean {
  const [registry] = image.split('/', 1);
  return registry === 'docker.io' || registry === 'index.docker.io';
}
