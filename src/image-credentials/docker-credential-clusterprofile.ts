#!/usr/bin/env node
// Docker's credential helper protocol on top of a kubelet's image credential providers: nothing is stored here.
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { CredentialsError } from '../errors/index.ts';
import { exitOnSignals } from '../exec/process.ts';
import { registriesOfServer, serverUrlOf } from './docker-config.ts';
import { ImageCredentialProviders } from './image-credential-providers.ts';
import type { ImageCredential } from './keyring.ts';

const name = 'docker-credential-clusterprofile';
const usage = `Usage: ${name} <store|get|erase|list|version>

Gives Docker, crane and the like the credentials of a kubelet's image credential providers. Configured by
  IMAGE_CREDENTIAL_PROVIDER_CONFIG   a CredentialProviderConfig, or a folder of them
  IMAGE_CREDENTIAL_PROVIDER_BIN_DIR  the folder of the plugins
and in ~/.docker/config.json: { "credHelpers": { "registry.example.dev": "clusterprofile" } }
  get      reads a registry from stdin, prints { ServerURL, Username, Secret }
  list     prints the registries with exact patterns, and their user names
  version  prints the version of the package
store and erase are refused: this helper is read-only.`;

/** Messages that Docker's client library recognises: no such login (it continues without one), and an empty stdin. */
const notFound = 'credentials not found in native keychain';
const noServerUrl = 'no credentials server URL';

class UsageError extends Error {}

function open(): ImageCredentialProviders {
  const { IMAGE_CREDENTIAL_PROVIDER_CONFIG: path, IMAGE_CREDENTIAL_PROVIDER_BIN_DIR: binDir } = process.env;
  if (path && binDir) return ImageCredentialProviders.fromConfigFile(path, { binDir });
  throw new UsageError('IMAGE_CREDENTIAL_PROVIDER_CONFIG and IMAGE_CREDENTIAL_PROVIDER_BIN_DIR have to be set');
}

/** The first credential for the registry of a server URL. If there is none, stderr says who was not asked. Rejects if a plugin failed. */
async function find(providers: ImageCredentialProviders, serverUrl: string): Promise<ImageCredential | undefined> {
  const answers = [];
  for (const registry of registriesOfServer(serverUrl)) {
    const answer = await providers.getRegistryCredentials(registry);
    const [credential] = answer.credentials;
    if (credential) return credential;
    answers.push(answer);
  }
  // Docker has no service account, so only a kubelet can use such a provider.
  for (const { provider, reason } of answers.flatMap(({ skipped }) => skipped)) {
    process.stderr.write(`${name}: image credential provider ${provider} was not asked: ${reason}\n`);
  }
  const [failure] = answers.flatMap(({ failures }) => failures);
  if (failure) throw failure.error;
  return undefined;
}

async function readServerUrl(): Promise<string> {
  const serverUrl = (await text(process.stdin)).trim();
  if (serverUrl === '') throw new UsageError(noServerUrl);
  return serverUrl;
}

async function get(): Promise<object> {
  const serverUrl = await readServerUrl();
  const credential = await find(open(), serverUrl);
  if (!credential) throw new UsageError(notFound);
  const { username, password } = credential;
  return { ServerURL: serverUrl, Username: username, Secret: password };
}

/** Every server URL that `get` can answer, as far as the patterns show it. */
async function list(): Promise<object> {
  const providers = open();
  const serverUrls = new Set(providers.patterns.flatMap(namedServer));
  const found = await Promise.all(
    // If one fails, the others are still listed, and stderr has a warning.
    [...serverUrls].map(async (serverUrl) => ({
      serverUrl,
      username: (await find(providers, serverUrl).catch(() => undefined))?.username,
    })),
  );
  return Object.fromEntries(
    found.flatMap(({ serverUrl, username }) => (username === undefined ? [] : [[serverUrl, username]])),
  );
}

function namedServer(pattern: string): readonly string[] {
  try {
    return [serverUrlOf(pattern)];
  } catch {
    // A pattern with a star, or one that cannot be a registry.
    return [];
  }
}

function version(): string {
  const content = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const own: { readonly name: string; readonly version: string } = JSON.parse(content);
  return `${name} (${own.name}) v${own.version}`;
}

async function answer(verb: string): Promise<string> {
  switch (verb) {
    case 'get':
      return JSON.stringify(await get());
    case 'list':
      return JSON.stringify(await list());
    case 'version':
    case '--version':
    case '-v':
      return version();
    case '--help':
    case '-h':
    case 'help':
      return usage;
    case 'store':
    case 'erase':
      await readServerUrl();
      throw new UsageError(`${verb}: this helper is read-only; configure a plugin`);
    default:
      throw new UsageError(`${name}: unknown action: ${verb}\n${usage}`);
  }
}

exitOnSignals();
try {
  const [verb, ...more] = process.argv.slice(2);
  if (verb === undefined || more.length > 0) throw new UsageError(usage);
  process.stdout.write(`${await answer(verb)}\n`);
} catch (error) {
  // Docker reads the reason from stdout.
  const known = error instanceof UsageError || error instanceof CredentialsError;
  process.stdout.write(`${known ? error.message : 'the helper failed'}\n`);
  process.exitCode = 1;
}
