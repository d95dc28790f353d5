import { registryOf } from './cache.ts';
import type { ImageCredential } from './keyring.ts';

/** The part of a `config.json` that skopeo, crane and Docker read. Holds secrets. */
export interface DockerConfig {
  readonly auths: Readonly<Record<string, { readonly auth: string }>>;
}

/** Docker Hub's own key; everything else is known by its host. */
const hubKey = 'https://index.docker.io/v1/';

/**
 * The first credential of each image. It stands under the registry where all of its images here have the same one, which is
 * where every tool looks, and under the repository where they differ, which skopeo and crane look at too.
 */
export function toAuths(
  images: readonly { readonly image: string; readonly credentials: readonly ImageCredential[] }[],
): DockerConfig {
  const byRegistry = new Map<string, Map<string, string | undefined>>();
  for (const {
    image,
    credentials: [first],
  } of images) {
    const registry = registryOf(image);
    const auth = first && Buffer.from(`${first.username}:${first.password}`).toString('base64');
    byRegistry.set(registry, (byRegistry.get(registry) ?? new Map()).set(image, auth));
  }
  const auths: Record<string, { readonly auth: string }> = {};
  for (const [registry, repositories] of byRegistry) {
    const [auth, ...others] = new Set(repositories.values());
    if (others.length > 0) {
      for (const [repository, own] of repositories) if (own !== undefined) auths[repository] = { auth: own };
    } else if (auth !== undefined) {
      auths[registry === 'docker.io' ? hubKey : registry] = { auth };
    }
  }
  return { auths };
}
