#!/usr/bin/env node
// Docker's credential helper protocol (get and list) on top of a kubelet's image credential providers.
import { text } from 'node:stream/consumers';
import { CredentialsError } from '../errors.ts';
import { ImageCredentialProviders } from './image-credential-providers.ts';
import type { ImageCredential } from './keyring.ts';

const usage = `Usage: docker-credential-clusterprofile get|list

Gives Docker, crane and the like the credentials of a kubelet's image credential providers. Configured by
  IMAGE_CREDENTIAL_PROVIDER_CONFIG   a CredentialProviderConfig, or a folder of them
  IMAGE_CREDENTIAL_PROVIDER_BIN_DIR  the folder of the plugins
and in ~/.docker/config.json: { "credHelpers": { "registry.example.dev": "clusterprofile" } }
  get    reads a registry from stdin, prints { ServerURL, Username, Secret }
  list   prints the registries that patterns without a * name, with their user names
store and erase are refused: nothing is kept here.`;

/** What Docker takes for "there is none", and goes on without. */
const notFound = 'credentials not found in native keychain';

class UsageError extends Error {}

function open(): ImageCredentialProviders {
  const { IMAGE_CREDENTIAL_PROVIDER_CONFIG: path, IMAGE_CREDENTIAL_PROVIDER_BIN_DIR: binDir } = process.env;
  if (path && binDir) return ImageCredentialProviders.fromConfigFile(path, { binDir });
  throw new UsageError('IMAGE_CREDENTIAL_PROVIDER_CONFIG and IMAGE_CREDENTIAL_PROVIDER_BIN_DIR have to be set');
}

/** `https://index.docker.io/v1/` is Docker Hub; otherwise the host is what counts. */
function registryOf(serverUrl: string): string {
  const schemeless = serverUrl.trim().replace(/^https?:\/\//, '');
  const registry = schemeless.replace(/\/(?:v[12]\/?)?$/, '');
  return registry === 'index.docker.io' ? 'docker.io' : registry;
}

async function first(providers: ImageCredentialProviders, registry: string): Promise<ImageCredential | undefined> {
  const { credentials, failures } = await providers.getRegistryCredentials(registry);
  const [credential] = credentials;
  const [failure] = failures;
  if (!credential && failure) throw failure.error;
  return credential;
}

async function get(): Promise<void> {
  const serverUrl = (await text(process.stdin)).trim();
  if (serverUrl === '') throw new UsageError('no registry on stdin');
  const credential = await first(open(), registryOf(serverUrl));
  if (!credential) throw new UsageError(notFound);
  const { username, password } = credential;
  process.stdout.write(`${JSON.stringify({ ServerURL: serverUrl, Username: username, Secret: password })}\n`);
}

async function list(): Promise<void> {
  const providers = open();
  const registries = [...new Set(providers.patterns.filter((pattern) => !pattern.includes('*')))];
  const found = await Promise.all(
    registries.map(async (registry) => [registry, (await first(providers, registry).catch(() => undefined))?.username]),
  );
  process.stdout.write(
    `${JSON.stringify(Object.fromEntries(found.filter(([, username]) => username !== undefined)))}\n`,
  );
}

async function main(verb: string | undefined): Promise<void> {
  if (verb === 'get') await get();
  else if (verb === 'list') await list();
  else if (verb === '--help' || verb === 'help') process.stdout.write(`${usage}\n`);
  else if (verb === 'store' || verb === 'erase')
    throw new UsageError(`${verb}: nothing is kept here; configure a plugin`);
  else throw new UsageError(usage);
}

try {
  await main(process.argv[2]);
} catch (error) {
  // Docker reads the reason from stdout.
  const known = error instanceof UsageError || error instanceof CredentialsError;
  process.stdout.write(`${known ? error.message : 'the helper failed'}\n`);
  process.exitCode = 1;
}
