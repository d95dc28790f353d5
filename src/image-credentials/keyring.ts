/** Puts the answers of several providers together, as the kubelet does it. Pure. */

import { type ImageUrl, isDockerHub, matcherOf, parseImageUrl } from './image-name.ts';
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
  readonly matches: (image: ImageUrl) => boolean;
  readonly credential: ImageCredential;
}

/** The key of an answer that is used for Docker Hub if no other matches. */
const hubKey = 'index.docker.io';

/** The answer of one provider. */
export class Keyring {
  readonly #entries: Entry[] = [];
  readonly #hub: ImageCredential[] = [];
  readonly #problems = new Set<string>();

  constructor(provider: string, auth: ImageResponse['auth']) {
    for (const [key, { username, password }] of auth) {
      const read = readKey(key);
      if ('problem' in read) {
        this.#problems.add(read.problem);
        continue;
      }
      const credential = new ImageCredential(provider, read.pattern, username, password);
      if (read.pattern === hubKey) this.#hub.push(credential);
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
    return this.#hub;
  }
}

/**
 * Every credential whose pattern matches the image: patterns in descending order of their characters, so that longer paths come
 * before shorter ones and literal hosts before globs; for one pattern the earlier keyring first.
 */
export function combine(image: string, keyrings: readonly Keyring[]): readonly ImageCredential[] {
  const url = parseImageUrl(image);
  const found = 'problem' in url ? [] : keyrings.flatMap((keyring) => keyring.find(url));
  if (found.length > 0) return found.toSorted((a, b) => compare(b.pattern, a.pattern));
  return isDockerHub(image) ? keyrings.flatMap(({ hub }) => hub) : [];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
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
