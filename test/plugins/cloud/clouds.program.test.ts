// The plugins of clouds as processes: what a client sees of them, and what a start costs beside bare Node.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { execCredential, startMetadata, startService } from '../../fixtures/clouds.ts';
import { writeInput } from '../../fixtures/program.ts';
import { startSilentProxy } from '../../fixtures/proxies.ts';
import { assertRatio, cheapestStarts } from '../../package/start-cost.ts';

const program = (name: string) => fileURLToPath(new URL(`../../../dist/plugins/${name}.js`, import.meta.url));
const info = { KUBERNETES_EXEC_INFO: JSON.stringify(execCredential()) };
const cluster = ['--cluster-id', 'spoke-1', '--region', 'eu-west-1'];

async function run(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = { env: { ...info, ...env }, extendEnv: false, reject: false } as const;
  const { stdout, stderr, exitCode } = await execa(process.execPath, [program(name), ...args], options);
  return { stdout, stderr, exitCode };
}

/** A metadata server of every cloud. */
const startClouds = (t: TestContext) =>
  startMetadata(t, ({ url }) => {
    const keys = { AccessKeyId: 'ASIAPOD', SecretAccessKey: 'the-secret-access-key', Token: 'the-session-token' };
    if (url === '/pod') return { body: keys };
    const body = { access_token: 'the-token', expires_in: 3_000, token_type: 'Bearer' };
    return { body, headers: { 'Metadata-Flavor': 'Google' } };
  });

/** Each plugin with the identity that costs it a request to a metadata server. */
const withMetadata = (url: string) =>
  ({
    'eks-credentials': { args: cluster, env: { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/pod` } },
    'gke-credentials': { args: [], env: { GCE_METADATA_HOST: new URL(url).host } },
    'oidc-credentials': { args: ['--azure-managed-identity'], env: { AZURE_POD_IDENTITY_AUTHORITY_HOST: url } },
  }) as const;

describe('a plugin of a cloud', () => {
  test('explains itself, ends with 2 if its arguments are wrong, and with 1 and one line if there is no identity', async () => {
    for (const name of ['eks-credentials', 'gke-credentials']) {
      assert.match((await run(name, ['--help'])).stdout, new RegExp(`^Usage: ${name} `));
      const wrong = await run(name, ['--no-such-option']);
      assert.deepEqual([wrong.exitCode, wrong.stdout], [2, '']);
      assert.match(wrong.stderr, new RegExp(`^${name}: .*\\(--help explains\\)$`));
    }
    const none = await run('eks-credentials', cluster, { AWS_EC2_METADATA_DISABLED: 'true' });
    assert.deepEqual([none.exitCode, none.stdout], [1, '']);
    assert.match(none.stderr, /^there is no AWS identity: [^\n]*$/);
  });

  test('hides what it sent, also if a service repeats it', async (t) => {
    const secret = 'the-projected-token-of-the-pod';
    const file = await writeInput(t, 'token', secret);
    const service = await startService(t, ({ url, form }) => {
      // The end of what is shown would be in the middle of the secret.
      const said = `no ${form.client_assertion ?? form.WebIdentityToken} here, ${'-'.repeat(440)} ${secret}`;
      if (url.includes('/oauth2/'))
        return { statusCode: 400, body: { error: 'invalid_client', error_description: said } };
      return { statusCode: 400, body: `<Error><Code>InvalidIdentityToken</Code><Message>${said}</Message></Error>` };
    });
    const env = { NODE_EXTRA_CA_CERTS: await writeInput(t, 'ca.crt', service.ca) };
    const ids = { AZURE_CLIENT_ID: 'c', AZURE_TENANT_ID: 't', AZURE_AUTHORITY_HOST: service.url };
    const role = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/fleet' };
    for (const { stdout, stderr, exitCode } of await Promise.all([
      run('oidc-credentials', ['--azure'], { ...env, ...ids, AZURE_FEDERATED_TOKEN_FILE: file }),
      run('eks-credentials', [...cluster, '--sts-endpoint', service.url], { ...env, ...role }),
    ])) {
      assert.deepEqual([exitCode, stdout], [1, '']);
      assert.match(stderr, /answered 400 \(\w+: no .* here, -+.*\); [^\n]*$/);
      assert.ok(!stderr.includes(secret.slice(0, 4)), stderr);
    }
  });

  test('refuses a proxy that Node would ignore, without quoting it', async (t) => {
    const service = await startService(t, () => ({ body: { access_token: 'x', expires_in: 60 } }));
    const [file, ca] = [await writeInput(t, 'token', 'a.b.c'), await writeInput(t, 'ca.crt', service.ca)];
    const ids = { AZURE_CLIENT_ID: 'c', AZURE_TENANT_ID: 't', AZURE_AUTHORITY_HOST: service.url };
    const env = { ...ids, AZURE_FEDERATED_TOKEN_FILE: file, NODE_EXTRA_CA_CERTS: ca };
    for (const proxy of ['proxy:3128', 'socks5://me:my-password@proxy']) {
      const { stderr, exitCode } = await run('oidc-credentials', ['--azure'], { ...env, HTTPS_PROXY: proxy });
      assert.deepEqual([stderr, exitCode], ['HTTPS_PROXY must be an http:// or https:// URL, or unset', 1]);
    }
    assert.equal(service.requests.length, 0);
    assert.match((await run('oidc-credentials', ['--azure'], env)).stdout, /"token":"x"/);
  });

  test('ends after its time, with the reason, where a proxy takes the connection and never answers', async (t) => {
    const { port } = await startSilentProxy(t);
    const file = await writeInput(t, 'token', 'a.b.c');
    const ids = { AZURE_CLIENT_ID: 'c', AZURE_TENANT_ID: 't', AZURE_AUTHORITY_HOST: 'https://login.example.dev/' };
    const env = { ...ids, AZURE_FEDERATED_TOKEN_FILE: file, HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const { stderr, exitCode } = await run('oidc-credentials', ['--azure'], env);
    assert.deepEqual([stderr, exitCode], ['login.example.dev has not answered within 10 s', 1]);
  });

  test('takes less than 3 times the CPU of bare Node and less than 70 MB, without a proxy that the environment names', async (t) => {
    const { url, requests } = await startClouds(t);
    const proxied = { HTTP_PROXY: 'http://127.0.0.1:9', NODE_USE_ENV_PROXY: '1', NO_PROXY: '' };
    for (const [name, { args, env }] of Object.entries(withMetadata(url))) {
      const { stdout, stderr } = await run(name, args, { ...env, ...proxied });
      assert.match(stdout, /"token":"[^"]{9,}"/, stderr);
    }
    assert.equal(requests.length, 3);
    const plugins = Object.entries(withMetadata(url)).map(([name, { args, env }]) => {
      return [name, { args: [program(name), ...args], env: { ...info, ...env } }] as const;
    });
    const { bare: node, ...starts } = await cheapestStarts<string>(t, Object.fromEntries(plugins));
    assert.ok(node);
    for (const [name, start] of Object.entries(starts)) {
      assertRatio(t, name, start, node, 3);
      assert.ok(start.megabytes < 70, `${name}: ${start.megabytes} MB`);
    }
  });
});
