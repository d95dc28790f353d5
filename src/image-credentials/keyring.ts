/** Puts the answers of several providers together, as the kubelet does it. Pure. */

import { parseGoUrl } from './go-url.ts';
import { isDefaultRegistry } from './image-name.ts';
import { matchImage } from './match-image.ts';
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

/** What one provider answered. */
export interface ProviderAnswer {
  readonly provider: string;
  readonly auth: ImageResponse['auth'];
}

/**
 * Every credential whose pattern matches the image: patterns in descending order of their bytes, so that longer paths come
 * before shorter ones and literal hosts before globs; for one pattern the earlier provider first.
 */
export function combine(image: string, answers: readonly ProviderAnswer[]): readonly ImageCredential[] {
  const keyring = new Map<string, ImageCredential[]>();
  for (const { provider, auth } of answers) {
    for (const [key, { username, password }] of Object.entries(auth)) {
      const pattern = normalizeKey(key);
      if (pattern === undefined) continue;
      const credentials = keyring.get(pattern) ?? [];
      credentials.push(new ImageCredential(provider, pattern, username, password));
      keyring.set(pattern, credentials);
    }
  }
  const patterns = [...keyring.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(b), Buffer.from(a)));
  const found = patterns
    .filter((pattern) => matchImage(pattern, image))
    .flatMap((pattern) => keyring.get(pattern) ?? []);
  if (found.length > 0 || !isDefaultRegistry(image)) return found;
  return keyring.get('index.docker.io') ?? [];
}

/** A key without scheme, user, query and API version; `undefined` for what is no URL. */
function normalizeKey(key: string): string | undefined {
  const schemeless = key.replace(/^https?:\/\//, '');
  if ('problem' in parseGoUrl(schemeless)) return undefined;
  const [, authority = '', path = ''] = /^([^/?#]*)([^?#]*)/.exec(schemeless) ?? [];
  const decoded = decodeURIComponentOr(path);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const withoutVersion = /^\/v[12]\//.test(decoded) ? decoded.slice(3) : decoded;
  return `${host}${withoutVersion === '/' ? '' : withoutVersion}`;
}

function decodeURIComponentOr(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
