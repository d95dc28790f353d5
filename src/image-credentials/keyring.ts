/** Which credentials an image gets: the patterns that match its name, and the order of several answers, as the kubelet has them. Pure. */
import { createGlob } from '../access/url-pattern.ts';
import { checkArgument, ImageError } from '../errors/index.ts';
import { isString } from '../util/guards.ts';
import type { ImageResponse } from './protocol.ts';

/** A user name and password for an image. Prints without the password. */
export class ImageCredential {
  /** The provider that gave it. */
  readonly provider: string;
  /** The pattern of images that it is for, as the provider gave it, without scheme and API version. */
  readonly pattern: string;
  readonly username: string;
  readonly #password: string;

  constructor(provider: string, pattern: string, username: string, password: string) {
    this.provider = provider;
    this.pattern = pattern;
    this.username = username;
    this.#password = password;
  }

  get password(): string {
    return this.#password;
  }

  toJSON(): object {
    const { provider, pattern, username } = this;
    return { provider, pattern, username, password: '[redacted]' };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `ImageCredential ${JSON.stringify(this)}`;
  }
}

/** The key of an answer that is used for Docker Hub if no other matches. */
const hubKey = 'index.docker.io';

/** The answer of one provider. */
export class Keyring {
  readonly #entries: { readonly matches: (image: ImageUrl) => boolean; readonly credential: ImageCredential }[] = [];
  readonly #problems = new Set<string>();

  constructor(provider: string, auth: ImageResponse['auth']) {
    for (const [key, { username, password }] of auth) {
      const read = readKey(key);
      if ('problem' in read) {
        this.#problems.add(read.problem);
        continue;
      }
      const credential = new ImageCredential(provider, read.pattern, username, password);
      this.#entries.push({ matches: matcherOf(read.url), credential });
    }
  }

  /** Credentials for an image, in the order in which the provider gave them. */
  find(image: ImageUrl): readonly ImageCredential[] {
    return this.#entries.filter(({ matches }) => matches(image)).map(({ credential }) => credential);
  }

  /** What is wrong with keys that are not URLs. They match no image, as in a kubelet. Keys are not quoted: one may contain a password. */
  get problems(): readonly string[] {
    return [...this.#problems];
  }

  /** The entries for Docker Hub if no pattern matches. */
  get hub(): readonly ImageCredential[] {
    return this.#entries.map(({ credential }) => credential).filter(({ pattern }) => pattern === hubKey);
  }
}

/**
 * Every credential whose pattern matches the image: patterns in descending order of their characters, so that longer paths come
 * before shorter ones and literal hosts before globs; for one pattern the earlier keyring first.
 */
export function combine(image: string, keyrings: readonly Keyring[]): readonly ImageCredential[] {
  const url = parseImageUrl(image);
  const found = 'problem' in url ? [] : keyrings.flatMap((keyring) => keyring.find(url));
  if (found.length > 0) return found.toSorted((a, b) => Buffer.compare(Buffer.from(b.pattern), Buffer.from(a.pattern)));
  return isDockerHub(image) ? keyrings.flatMap(({ hub }) => hub) : [];
}

/** Why a key of an answer can match no image; `undefined` if it is a URL. */
export function keyProblem(key: string): string | undefined {
  const read = readKey(key);
  return 'problem' in read ? read.problem : undefined;
}

/** A key without scheme, query and API version, or what is wrong with a key that is not a URL. */
function readKey(key: string): { readonly pattern: string; readonly url: ImageUrl } | { readonly problem: string } {
  const [, host = '', path = ''] = /^(?:https?:\/\/)?([^/?#]*)([^?#]*)/.exec(key) ?? [];
  const repository = path.replace(/^\/v[12]\//, '/');
  const pattern = `${host}${repository === '/' ? '' : repository}`;
  const url = parseImageUrl(pattern);
  return 'problem' in url ? url : { pattern, url };
}

const pathPart = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
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
  if (more.length > 0 || (digest !== undefined && !digestPattern.test(digest))) fail('has an invalid digest');
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

/** The registry of an image, with its port. */
export function registryOf(image: string): string {
  return image.split('/', 1)[0] ?? '';
}

/** Whether an image or a registry is of Docker Hub. The key `index.docker.io` is for these. */
export function isDockerHub(image: string): boolean {
  const registry = registryOf(image);
  return registry === 'docker.io' || registry === 'index.docker.io';
}

/**
 * The host, port and path of an image or a pattern. They are compared as text, as in the kubelet: `URL` would change case, default ports,
 * dots and addresses, and other images would match.
 */
export interface ImageUrl {
  /** Dot-separated parts of the host. */
  readonly parts: readonly string[];
  /** Empty if there is none. */
  readonly port: string;
  readonly path: string;
}

/** Reads `host[:port][/path]`. A query or a fragment is ignored. Returns what is wrong with a text that is something else. */
export function parseImageUrl(text: string): ImageUrl | { readonly problem: string } {
  if (!/^[!-$&-~]*$/.test(text)) return { problem: 'has a character that is not allowed in a host or path' };
  const [, host = '', port = '', path = ''] = /^([^/?#]*?)(?::([^:/?#\]]*))?(\/[^?#]*)?(?:[?#].*)?$/.exec(text) ?? [];
  if (!/^(?:[\w.*-]*|\[[\dA-Fa-f:]+\])$/.test(host)) return { problem: 'has an invalid host' };
  if (!/^\d*$/.test(port)) return { problem: 'has a port that is not a number' };
  return { parts: host.split('.'), port, path };
}

/**
 * Whether an image matches a pattern of `matchImages`, as in the kubelet (KEP-2133). The ports are the same. The hosts have the same
 * number of parts, and a `*` in a part of the pattern stands for any characters. The image's path begins with the pattern's
 * path, character by character. A pattern or image that is not a URL matches nothing. The time is linear in the length of both.
 *
 * @example
 * matchImage('*.dkr.ecr.*.amazonaws.com', '123.dkr.ecr.us-east-1.amazonaws.com/app'); // true
 * matchImage('registry.io:8080/path', 'registry.io:8080/path-and-more'); // true
 */
export function matchImage(pattern: string, image: string): boolean {
  checkArgument('matchImage', 'pattern', pattern, isString, 'text');
  checkArgument('matchImage', 'image', image, isString, 'text');
  const target = parseImageUrl(image);
  return !('problem' in target) && createMatcher(pattern)(target);
}

/** Reads a pattern once, for many images. */
export function createMatcher(pattern: string): (image: ImageUrl) => boolean {
  const url = parseImageUrl(pattern);
  return 'problem' in url ? () => false : matcherOf(url);
}

/** The matcher of a pattern that has been parsed. */
function matcherOf({ port, path, parts }: ImageUrl): (image: ImageUrl) => boolean {
  const globs = parts.map(createGlob);
  return (image) =>
    image.port === port &&
    image.parts.length === globs.length &&
    image.path.startsWith(path) &&
    globs.every((glob, index) => glob(image.parts[index] ?? ''));
}
