/** Puts the answers of several providers together, as the kubelet does it. Pure. */

import { type GoUrl, parseGoUrl, toBytes } from './go-url.ts';
import { isDockerHub } from './image-name.ts';
import { matcherOf } from './match-image.ts';
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

interface Entry {
  /** The bytes of the pattern: patterns are tried in their order. */
  readonly order: string;
  /** What an image's path has to begin with. */
  readonly path: string;
  readonly credential: ImageCredential;
}

interface GlobEntry extends Entry {
  readonly matches: (image: GoUrl) => boolean;
}

/** The key of an answer that is used for Docker Hub if no other matches. */
const hubKey = 'index.docker.io';

/** The answer of one provider: read once, looked up often. */
export class Keyring {
  /** Entries of one host and port. */
  readonly #hosts = new Map<string, Entry[]>();
  /** Entries with a `*` in their host. */
  readonly #globs: GlobEntry[] = [];
  readonly #hub: ImageCredential[] = [];
  readonly #problems = new Set<string>();

  constructor(provider: string, auth: ImageResponse['auth']) {
    for (const [key, { username, password }] of auth) {
      const normalized = normalizeKey(key);
      if ('problem' in normalized) {
        this.#problems.add(normalized.problem);
        continue;
      }
      const { pattern, url } = normalized;
      const credential = new ImageCredential(provider, pattern, username, password);
      const entry = { order: toBytes(pattern), path: url.path, credential };
      if (pattern === hubKey) this.#hub.push(credential);
      const host = hostOf(url);
      if (host.includes('*')) this.#globs.push({ ...entry, matches: matcherOf(url) });
      else {
        const entries = this.#hosts.get(host);
        if (entries) entries.push(entry);
        else this.#hosts.set(host, [entry]);
      }
    }
  }

  /** Entries for an image, in the order in which the provider gave them. */
  find(image: GoUrl): readonly Entry[] {
    const own = this.#hosts.get(hostOf(image)) ?? [];
    return [
      ...own.filter(({ path }) => image.path.startsWith(path)),
      ...this.#globs.filter(({ matches }) => matches(image)),
    ];
  }

  /** What is wrong with keys that are not URLs. They match no image, as in a kubelet. Keys are not quoted: one may contain a password. */
  get problems(): readonly string[] {
    return [...this.#problems];
  }

  /** The entries for Docker Hub if no pattern matches. */
  get hub(): readonly ImageCredential[] {
    return this.#hub;
  }
}

/**
 * Every credential whose pattern matches the image: patterns in descending order of their bytes, so that longer paths come
 * before shorter ones and literal hosts before globs; for one pattern the earlier keyring first.
 */
export function combine(image: string, keyrings: readonly Keyring[]): readonly ImageCredential[] {
  const url = parseGoUrl(image);
  const entries = 'problem' in url ? [] : keyrings.flatMap((keyring) => keyring.find(url));
  const found = entries.toSorted((a, b) => compare(b.order, a.order));
  if (found.length > 0) return found.map(({ credential }) => credential);
  return isDockerHub(image) ? keyrings.flatMap(({ hub }) => hub) : [];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function hostOf({ parts, port }: GoUrl): string {
  return `${parts.join('.')}:${port}`;
}

/** Why a key of an answer can match no image; `undefined` if it is a URL. */
export function keyProblem(key: string): string | undefined {
  const normalized = normalizeKey(key);
  return 'problem' in normalized ? normalized.problem : undefined;
}

/** A key without scheme, user, query and API version, or what is wrong with a key that is not a URL. */
function normalizeKey(key: string): { readonly pattern: string; readonly url: GoUrl } | { readonly problem: string } {
  const schemeless = key.replace(/^https?:\/\//, '');
  const url = parseGoUrl(schemeless);
  if ('problem' in url) return url;
  const [, authority = '', path = ''] = /^([^/?#]*)([^?#]*)/.exec(schemeless) ?? [];
  const decoded = decodeURIComponentOr(path);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const withoutVersion = /^\/v[12]\//.test(decoded) ? decoded.slice(3) : decoded;
  const pattern = `${host}${withoutVersion === '/' ? '' : withoutVersion}`;
  if (pattern === schemeless) return { pattern, url };
  // The kubelet parses the decoded text once more, so this does it too.
  const again = parseGoUrl(pattern);
  return 'problem' in again ? again : { pattern, url: again };
}

function decodeURIComponentOr(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
