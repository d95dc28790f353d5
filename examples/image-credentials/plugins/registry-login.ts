#!/usr/bin/env node
// An image credential plugin: user names and passwords from a file of lines `pattern user password`.
// REGISTRY_LOGINS names the file, for example a mounted Secret. Copy it, and replace the lookup with your issuer's.
import { readFile } from 'node:fs/promises';
import { matchImage, runImageCredentialPlugin } from 'clusterprofile-credentials/image-plugin';

const registryOf = (name: string) => name.split('/', 1)[0] ?? '';

await runImageCredentialPlugin(async ({ image }) => {
  const path = process.env.REGISTRY_LOGINS;
  if (!path) throw new Error('REGISTRY_LOGINS is not set: name the file with the logins');
  const lines = (await readFile(path, 'utf8')).split('\n').flatMap((line, index) => {
    if (/^\s*(#|$)/.test(line)) return [];
    const words = line.trim().split(/\s+/);
    // If a wrong line were skipped, pulls would fail and nobody would know why. The line is not shown, since it has a password.
    if (words.length !== 3) throw new Error(`${path}: line ${index + 1} is not: pattern user password`);
    if (/^https?:|^index\.docker\.io/.test(line.trim())) {
      throw new Error(`${path}: line ${index + 1}: write the host alone, such as registry.example.dev, or docker.io`);
    }
    return [words];
  });
  // All logins of the registry, not only the one for this image: `Registry` means that the answer is used for its other images too.
  // A plugin whose answer is for one image only says `Image`.
  const logins = lines.filter(([pattern = '']) => matchImage(registryOf(pattern), registryOf(image)));
  return {
    auth: Object.fromEntries(
      logins.map(([pattern, username = '', password = '']) => [pattern, { username, password }]),
    ),
    cacheKeyType: 'Registry',
    cacheDurationMs: 600_000,
  };
});
