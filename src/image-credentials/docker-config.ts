/** Docker's side: its config file, and what its tools call a registry. Pure. */
import { ImageError } from '../errors/index.ts';
import { type ImageCredential, registryOf, registryPath } from './keyring.ts';

/** A login as a `config.json` has it; empty if there is none. */
export interface DockerLogin {
  /** Base64 of `user:password`. */
  readonly auth?: string;
  /** These two are set if `auth` cannot hold them: the user name is empty, or has a colon. */
  readonly username?: string;
  readonly password?: string;
}

/** The part of a `config.json` that Docker, crane and skopeo read. Holds secrets: `JSON.stringify` writes them, `console.log` does not. */
export interface DockerConfig {
  readonly auths: Readonly<Record<string, DockerLogin>>;
}

interface ImageLogin {
  readonly image: string;
  /** The first one is written. */
  readonly credentials: readonly ImageCredential[];
}

/** Docker Hub's own key, for its registry. */
const hubServerUrl = 'https://index.docker.io/v1/';

/**
 * The first credential of each image. If all images of a registry have the same one, its key is the registry, where every tool
 * looks. If not, each has its repository as the key, where crane and skopeo look first, and the registry has an entry too: without
 * it, Docker takes the login of any repository.
 */
export function toAuths(images: readonly ImageLogin[]): DockerConfig {
  const auths: Record<string, DockerLogin> = {};
  for (const [registry, members] of Map.groupBy(images, ({ image }) => registryOf(image))) {
    const logins = members.map(({ image, credentials: [first] }) => ({ image, first, login: toLogin(first) }));
    const given = logins.filter(({ login }) => login !== none);
    const [shared] = given;
    if (!shared) continue;
    const isForAll = given.length === logins.length;
    const isOne = new Set(given.map(({ login }) => JSON.stringify(login))).size === 1;
    if (!isForAll || !isOne) {
      for (const { image, login } of logins) for (const key of repositoryKeys(image)) auths[key] = login;
    }
    const whole = isForAll ? given.find(({ first }) => first && !first.pattern.includes('/')) : undefined;
    auths[serverUrlOf(registry)] = isOne ? shared.login : (whole?.login ?? none);
  }
  // Prints without the logins; `JSON.stringify` writes them.
  const inspect = () => Object.fromEntries(Object.keys(auths).map((name) => [name, '[redacted]']));
  return { auths: Object.defineProperty(auths, Symbol.for('nodejs.util.inspect.custom'), { value: inspect }) };
}

/** Docker, crane and skopeo read it as no login, and do not look for another one of the same name. */
const none: DockerLogin = {};

function toLogin(credential: ImageCredential | undefined): DockerLogin {
  const { username = '', password = '' } = credential ?? {};
  if (username === '' && password === '') return none;
  // Readers take the text before the first colon as the user, and remove NUL from the ends of a password. For an empty user they
  // refuse the file.
  const fits = username !== '' && !username.includes(':') && !/^\0|\0$/.test(password);
  return fits ? { auth: Buffer.from(`${username}:${password}`).toString('base64') } : { username, password };
}

/** crane has another name for Docker Hub. */
function repositoryKeys(image: string): readonly string[] {
  return image.startsWith('docker.io/') ? [image, `index.${image}`] : [image];
}

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
