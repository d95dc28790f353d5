// npm run demo -- images: pulls two images with credentials from a plugin, and prints what happened. The registry runs in this
// process. It asks for a password for one image, and for a token for the other.
import { createHash } from 'node:crypto';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { type ImageCredential, ImageCredentialProviders } from 'clusterprofile-credentials/image-credentials';
import { request } from 'undici';

const layer = Buffer.from('a layer');
const digest = (data: Buffer) => `sha256:${createHash('sha256').update(data).digest('hex')}`;
const manifest = Buffer.from(
  JSON.stringify({ schemaVersion: 2, layers: [{ digest: digest(layer), size: layer.length }] }),
);
const login = `Basic ${Buffer.from('puller:s3cret').toString('base64')}`;
const token = 'a-token-for-one-repository';

/** The part of the distribution API that a pull needs: basic auth for `basic/`, a bearer token from /token for the rest. */
function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  const { authorization = '' } = headers;
  const send = (status: number, body: Buffer | string, more: Record<string, string> = {}) =>
    response.writeHead(status, more).end(body);
  if (url.startsWith('/token')) {
    send(authorization === login ? 200 : 401, JSON.stringify({ token }));
    return;
  }
  const [, repository = '', kind, reference] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(url) ?? [];
  const basic = repository.startsWith('basic/');
  if (authorization !== (basic ? login : `Bearer ${token}`)) {
    const realm = `http://${headers.host}/token`;
    const challenge = basic ? 'Basic realm="demo"' : `Bearer realm="${realm}",scope="repository:${repository}:pull"`;
    send(401, '', { 'www-authenticate': challenge });
  } else if (kind === 'manifests') send(200, manifest);
  else if (reference === digest(layer)) send(200, layer);
  else send(404, '');
}

/** Pulls as a container runtime does: it asks, learns how to log in, and tries one credential after the other. */
async function pull(registry: string, repository: string, credentials: readonly ImageCredential[]): Promise<string> {
  const get = async (path: string, authorization?: string) => {
    const { statusCode, headers, body } = await request(`http://${registry}${path}`, {
      headers: authorization ? { authorization } : {},
    });
    return {
      statusCode,
      challenge: String(headers['www-authenticate'] ?? ''),
      data: Buffer.from(await body.arrayBuffer()),
    };
  };
  const manifestPath = `/v2/${repository}/manifests/latest`;
  const { challenge } = await get(manifestPath);
  for (const { username, password } of credentials) {
    let authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    const kind = challenge.startsWith('Bearer') ? 'token' : 'basic';
    if (kind === 'token') {
      const { data } = await get(`/token?scope=repository:${repository}:pull`, authorization);
      authorization = `Bearer ${JSON.parse(data.toString()).token}`;
    }
    const { statusCode, data } = await get(manifestPath, authorization);
    if (statusCode !== 200) continue;
    const [first] = JSON.parse(data.toString()).layers;
    const blob = await get(`/v2/${repository}/blobs/${first.digest}`, authorization);
    const whole = digest(blob.data) === first.digest;
    return `${kind} auth as ${username}, ${blob.data.length} bytes, digest ${whole ? 'right' : 'wrong'}`;
  }
  return 'no credential was taken';
}

const server = createServer(answer);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
const { port } = server.address() as AddressInfo; // it listens
const registry = `127.0.0.1:${port}`;
const folder = await mkdtemp(join(tmpdir(), 'image-demo-'));
try {
  const logins = join(folder, 'logins');
  await writeFile(logins, `${registry} puller s3cret\n`);
  await symlink(
    fileURLToPath(new URL('./plugins/registry-login.ts', import.meta.url)),
    join(folder, 'registry-login.ts'),
  );
  const config = join(folder, 'config.json');
  const provider = {
    name: 'registry-login.ts',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    matchImages: [registry],
    defaultCacheDuration: '10m',
    env: [{ name: 'REGISTRY_LOGINS', value: logins }],
  };
  const content = { kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1', providers: [provider] };
  await writeFile(config, JSON.stringify(content));
  const providers = ImageCredentialProviders.fromConfigFile(config, { binDir: folder });
  for (const repository of ['basic/app', 'token/app', 'basic/other']) {
    const began = performance.now();
    const { image, credentials, failures } = await providers.getCredentials(`${registry}/${repository}:latest`);
    for (const { error } of failures) throw error;
    const ms = Math.round(performance.now() - began);
    const result = await pull(registry, repository, credentials);
    console.log(
      `${styleText('bold', image.padEnd(32))} credentials in ${String(ms).padStart(4)} ms; pulled: ${result}`,
    );
  }
  await providers.close();
  console.log(
    '\nThe plugin ran once: its answer was good for the registry, so the later pulls took it from the cache.',
  );
} finally {
  server.close();
  await rm(folder, { recursive: true });
}
