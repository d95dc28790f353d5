import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { parseImageConfig } from '../../src/image-credentials/config.ts';
import { ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { read, root } from '../fixtures/docs.ts';
import { temporaryFolder } from '../fixtures/script.ts';

describe('examples/image-credentials', () => {
  test('has a configuration that is valid, and a plugin of its name that gives what its file says', async (t) => {
    const path = join(root, 'examples/image-credentials');
    const text = read('examples/image-credentials/credential-providers.yaml');
    const [provider] = parseImageConfig(text, 'example', new Set());
    assert.equal(provider?.name, 'registry-login.ts');
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'logins'), '*.example.dev me s3cret\neu.example.dev/team us t3am\nother.dev x y\n');
    const config = {
      kind: 'CredentialProviderConfig',
      apiVersion: 'kubelet.config.k8s.io/v1',
      providers: [
        { ...provider, defaultCacheDuration: '10m', env: [{ name: 'REGISTRY_LOGINS', value: join(folder, 'logins') }] },
      ],
    };
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    await chmod(join(path, 'plugins/registry-login.ts'), 0o755);
    const providers = ImageCredentialProviders.fromConfigFile(join(folder, 'config.json'), {
      binDir: join(path, 'plugins'),
    });
    t.after(() => providers.close());
    const pulled = async (image: string) => {
      const { credentials, failures } = await providers.getCredentials(image);
      assert.deepEqual(failures, []);
      return credentials.map(({ pattern, username, password }) => [pattern, username, password]);
    };
    const any = ['*.example.dev', 'me', 's3cret'];
    assert.deepEqual(await pulled('eu.example.dev/app:2'), [any]);
    // What is kept for the registry has what its other images need.
    assert.deepEqual(await pulled('eu.example.dev/team/app'), [['eu.example.dev/team', 'us', 't3am'], any]);
  });

  test('has a plugin that refuses a line that it cannot use, without a word of what stands in it', async (t) => {
    const folder = await temporaryFolder(t);
    const env = { REGISTRY_LOGINS: join(folder, 'logins') };
    const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
    const input = JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image: 'r.io/a' });
    const plugin = join(root, 'examples/image-credentials/plugins/registry-login.ts');
    for (const [line, message] of [
      ['r.io s3cret', /line 3 is not: pattern user password$/],
      ['r.io me s3 cret', /line 3 is not: pattern user password$/],
      ['https://r.io me s3cret', /line 3: write the host alone/],
      ['index.docker.io/v1/ me s3cret', /line 3: write the host alone, such as registry.example.dev, or docker.io$/],
    ] as const) {
      await writeFile(env.REGISTRY_LOGINS, `# pattern user password\n\n${line}\n`);
      const { stdout, stderr, exitCode } = await execa(process.execPath, [plugin], { input, env, reject: false });
      assert.deepEqual([exitCode, stdout], [1, '']);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /s3/);
    }
  });

  test('has a demo that pulls with both kinds of login', async () => {
    const { stdout } = await execa(process.execPath, [join(root, 'examples/image-credentials/demo.ts')]);
    assert.match(stdout, /basic\/app .*pulled: basic auth as puller, 7 bytes, digest right/);
    assert.match(stdout, /token\/app .*pulled: token auth as puller, 7 bytes, digest right/);
  });
});
