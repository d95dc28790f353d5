import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { parseImageConfig } from '../../src/image-credentials/config.ts';
import { ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { respond, startImageProviders, v1 } from '../fixtures/image-plugins.ts';
import { temporaryFolder } from '../fixtures/script.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const module = new URL('../../src/image-credentials/index.ts', import.meta.url).href;

describe('runImageCredentialPlugin', () => {
  function run(handler: string, input: string) {
    const program = `import { runImageCredentialPlugin } from '${module}'; await runImageCredentialPlugin(${handler});`;
    return execa(process.execPath, ['--input-type=module', '--eval', program], { input, reject: false });
  }
  const request = (more: object = {}) =>
    JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion: v1, image: 'gcr.io/a', ...more });

  test('answers in the version that it was asked in', async () => {
    const handler = `({ image }) => ({ auth: { [image]: { username: 'u', password: 'p' } }, cacheDurationMs: 90_000 })`;
    for (const apiVersion of [v1, `${v1}beta1`, `${v1}alpha1`]) {
      const { stdout, exitCode } = await run(handler, request({ apiVersion }));
      assert.equal(exitCode, 0);
      assert.deepEqual(JSON.parse(stdout), {
        kind: 'CredentialProviderResponse',
        apiVersion,
        cacheKeyType: 'Registry',
        cacheDuration: '90s',
        auth: { 'gcr.io/a': { username: 'u', password: 'p' } },
      });
    }
  });

  test('hands over the token and the annotations of a service account', async () => {
    const handler = `({ serviceAccountToken, serviceAccountAnnotations }) => ({ auth: { a: { username: serviceAccountToken, password: serviceAccountAnnotations.role } } })`;
    const { stdout } = await run(
      handler,
      request({ serviceAccountToken: 't', serviceAccountAnnotations: { role: 'r' } }),
    );
    assert.deepEqual(JSON.parse(stdout).auth, { a: { username: 't', password: 'r' } });
  });

  test('tells a failure on stderr, in one line, and exits with 1', async () => {
    const failed = await run(`() => { throw new Error('no login') }`, request());
    assert.deepEqual([failed.exitCode, failed.stdout, failed.stderr], [1, '', 'no login']);
    const alone = await run('() => ({ auth: {} })', '');
    assert.match(alone.stderr, /stdin holds no CredentialProviderRequest: this program is an image credential plugin/);
    const wrong = await run('() => ({ auth: {} })', request({ image: '' }));
    assert.match(wrong.stderr, /stdin: image: must be the name of an image/);
  });
});

describe('docker-credential-clusterprofile', () => {
  const helper = join(root, 'dist/image-credentials/docker-credential-clusterprofile.js');
  async function startHelper(t: TestContext, code: string, matchImages = ['gcr.io', '*.example.dev', 'docker.io']) {
    const { path, binDir } = await startImageProviders(t, [{ name: 'p', code, config: { matchImages } }]);
    const env = { IMAGE_CREDENTIAL_PROVIDER_CONFIG: path, IMAGE_CREDENTIAL_PROVIDER_BIN_DIR: binDir };
    return (verb: string[], input = '') => execa(process.execPath, [helper, ...verb], { env, input, reject: false });
  }
  const auth = {
    'gcr.io': { username: 'g', password: 'pw' },
    '*.example.dev': { username: 'e', password: 'pw2' },
    'https://index.docker.io/v1/': { username: 'hub', password: 'pw3' },
  };

  test('get gives the credential of a registry, Docker Hub by its own name too', async (t) => {
    const run = await startHelper(t, respond(auth));
    for (const [serverUrl, Username, Secret] of [
      ['gcr.io', 'g', 'pw'],
      ['https://a.example.dev', 'e', 'pw2'],
      ['https://index.docker.io/v1/', 'hub', 'pw3'],
    ]) {
      const { stdout, exitCode } = await run(['get'], `${serverUrl}\n`);
      assert.deepEqual([exitCode, JSON.parse(stdout)], [0, { ServerURL: serverUrl, Username, Secret }]);
    }
  });

  test("get says what Docker takes for none where there is none, and a plugin's failure where there is one", async (t) => {
    const run = await startHelper(t, 'echo down >&2; exit 1');
    const none = await run(['get'], 'other.com');
    assert.deepEqual([none.exitCode, none.stdout], [1, 'credentials not found in native keychain']);
    const failed = await run(['get'], 'gcr.io');
    assert.equal(failed.exitCode, 1);
    assert.match(failed.stdout, /image credential provider p: .*failed with exit code 1/);
  });

  test('list names the registries that are known without a glob', async (t) => {
    const run = await startHelper(t, respond(auth));
    const { stdout } = await run(['list']);
    assert.deepEqual(JSON.parse(stdout), { 'gcr.io': 'g', 'docker.io': 'hub' });
  });

  test('store and erase are refused, --help explains, and anything else gets the usage', async (t) => {
    const run = await startHelper(t, respond(auth));
    for (const verb of ['store', 'erase']) {
      const { exitCode, stdout } = await run([verb], '{}');
      assert.deepEqual([exitCode, stdout], [1, `${verb}: nothing is kept here; configure a plugin`]);
    }
    assert.match((await run(['--help'])).stdout, /^Usage: docker-credential-clusterprofile get\|list/);
    assert.equal((await run([])).exitCode, 1);
    const unset = await execa(process.execPath, [helper, 'list'], { reject: false });
    assert.match(unset.stdout, /IMAGE_CREDENTIAL_PROVIDER_CONFIG and IMAGE_CREDENTIAL_PROVIDER_BIN_DIR have to be set/);
  });
});

describe('examples/image-credentials', () => {
  test('has a configuration that is valid, and a plugin of its name that gives what its file says', async (t) => {
    const path = join(root, 'examples/image-credentials');
    const [provider] = parseImageConfig(
      readFileSync(join(path, 'credential-providers.yaml'), 'utf8'),
      'example',
      new Set(),
    );
    assert.equal(provider?.name, 'registry-login.ts');
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'logins'), '*.example.dev me s3cret\nother.dev x y\n');
    const config = {
      kind: 'CredentialProviderConfig',
      apiVersion: 'kubelet.config.k8s.io/v1',
      providers: [
        { ...provider, defaultCacheDuration: '10m', env: [{ name: 'REGISTRY_LOGINS', value: join(folder, 'logins') }] },
      ],
    };
    const { defaultCacheDurationMs: _, ...entry } = { ...config.providers[0], defaultCacheDurationMs: 0 };
    await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, providers: [entry] }));
    await chmod(join(path, 'plugins/registry-login.ts'), 0o755);
    const providers = ImageCredentialProviders.fromConfigFile(join(folder, 'config.json'), {
      binDir: join(path, 'plugins'),
    });
    t.after(() => providers.close());
    const { credentials, failures } = await providers.getCredentials('eu.example.dev/app:2');
    assert.deepEqual(failures, []);
    assert.deepEqual(
      credentials.map(({ pattern, username, password }) => [pattern, username, password]),
      [['*.example.dev', 'me', 's3cret']],
    );
  });

  test('has a demo that pulls with both kinds of login', async () => {
    const { stdout } = await execa(process.execPath, [join(root, 'examples/image-credentials/demo.ts')]);
    assert.match(stdout, /basic\/app .*pulled: basic auth as puller, 7 bytes, digest right/);
    assert.match(stdout, /token\/app .*pulled: token auth as puller, 7 bytes, digest right/);
  });
});
