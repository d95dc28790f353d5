// The kubelet's provider for Amazon ECR, and a real pull by crane from a real registry with what it gives.
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { parse } from 'yaml';
import { ImageCredentialProviders } from '../../src/image-credentials/index.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from './control-plane.ts';
import { dist, type Lifetime, lifetimeOf } from './fixture.ts';
import { type Internet, startInternet } from './producers/internet.ts';
import { producer } from './producers/recipe.ts';
import { startSts } from './producers/sts.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const host = '123456789012.dkr.ecr.eu-west-1.amazonaws.com';
const role = 'arn:aws:iam::123456789012:role/puller';

/** CNCF's registry, known as a private registry of ECR. It makes its own password. */
async function startRegistry(t: TestContext, life: Lifetime, internet: Internet) {
  const folder = await temporaryFolder(t);
  const { certificate, key } = internet.authority.issue({ commonName: host, dnsNames: [host] });
  const [config, crt, pem, htpasswd, log] = ['config.yml', 'tls.crt', 'tls.key', 'htpasswd', 'log'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string, string]; // five names, five paths
  await writeFile(crt, certificate);
  await writeFile(pem, key, { mode: 0o600 });
  const port = await freePort();
  await writeFile(
    config,
    JSON.stringify({
      version: 0.1,
      log: { level: 'info', formatter: 'json' },
      storage: { filesystem: { rootdirectory: join(folder, 'data') } },
      auth: { htpasswd: { realm: 'registry', path: htpasswd } },
      http: { addr: `127.0.0.1:${port}`, secret: 'x', tls: { certificate: crt, key: pem } },
    }),
  );
  const server = execa(producer('registry'), ['serve', config], {
    reject: false,
    stdout: { file: log },
    stderr: { file: log },
    env: { OTEL_TRACES_EXPORTER: 'none' },
  });
  life.after(async () => {
    server.kill('SIGKILL');
    await server;
  });
  const said = () => readFile(log, 'utf8').catch(() => '');
  await until(t, async () => server.nodeChildProcess.exitCode !== null || /listening on/.test(await said()));
  const text = await said();
  const [, password = assert.fail(text)] = /"password":"([^"]+)"/.exec(text) ?? [];
  internet.lead(host, port);
  return { password };
}

/** ECR's API: a login for the keys of this test. */
async function startEcr(internet: Internet, login: string) {
  await internet.serve('api.ecr.eu-west-1.amazonaws.com', ({ headers }, response) => {
    const isAsked = headers['x-amz-target'] === 'AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken';
    const isKnown = /Credential=(?:AKIAEXAMPLE|ASIA)/.test(headers.authorization ?? '');
    const authorizationToken = Buffer.from(login).toString('base64');
    const expiresAt = Date.now() / 1_000 + 12 * 3_600;
    const body = { authorizationData: [{ authorizationToken, expiresAt, proxyEndpoint: `https://${host}` }] };
    response.writeHead(isAsked && isKnown ? 200 : 400, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(isAsked && isKnown ? body : {}));
  });
}

describe('images of a registry that is known as one of ECR', () => {
  test('crane pulls through docker-credential-clusterprofile, and with what toDockerConfig gives', async (t) => {
    const life = lifetimeOf(t);
    const internet = await startInternet(life);
    const { password } = await startRegistry(t, life, internet);
    const sts = await startSts(internet, { [role]: 'a-token-of-the-service-account' });
    await startEcr(internet, `docker:${password}`);

    // The recipe's file, with the identity of a node, and in the second one that of a pod (KEP-4412).
    const folder = await temporaryFolder(t);
    const config = parse(await readFile(join(root, 'examples/image-credentials/ecr.yaml'), 'utf8'));
    const [provider] = config.providers;
    const env = Object.entries(internet.env).map(([name, value]) => ({ name, value }));
    const key = { AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE', AWS_SECRET_ACCESS_KEY: 'x', AWS_EC2_METADATA_DISABLED: 'true' };
    const write = async (name: string, change: object) => {
      const path = join(folder, name);
      await writeFile(path, JSON.stringify({ ...config, providers: [{ ...provider, ...change }] }));
      return path;
    };
    const ofNode = await write('node.json', {
      env: [...env, ...Object.entries(key).map(([name, value]) => ({ name, value }))],
    });
    const tokenAttributes = {
      serviceAccountTokenAudience: 'sts.amazonaws.com',
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredServiceAccountAnnotationKeys: ['eks.amazonaws.com/ecr-role-arn'],
    };
    const ofPod = await write('pod.json', { env, tokenAttributes });
    const binDir = join(folder, 'bin');
    await mkdir(binDir);
    await symlink(producer('ecr-credential-provider'), join(binDir, 'ecr-credential-provider'));

    const helper = dist('image-credentials/docker-credential-clusterprofile.js');
    await chmod(helper, 0o755);
    await symlink(helper, join(binDir, 'docker-credential-clusterprofile'));
    const docker = async (name: string, content: object) => {
      const path = join(folder, name);
      await mkdir(path);
      await writeFile(join(path, 'config.json'), JSON.stringify(content), { mode: 0o600 });
      return path;
    };
    const crane = (DOCKER_CONFIG: string, args: readonly string[]) =>
      execa(producer('crane'), args, {
        env: {
          ...internet.env,
          DOCKER_CONFIG,
          PATH: `${binDir}:${process.env.PATH}`,
          IMAGE_CREDENTIAL_PROVIDER_CONFIG: ofNode,
          IMAGE_CREDENTIAL_PROVIDER_BIN_DIR: binDir,
        },
        reject: false,
      });
    const layer = join(folder, 'layer.tar');
    await writeFile(join(folder, 'hello'), 'hello\n');
    await execa('tar', ['-C', folder, '-cf', layer, 'hello']);
    const helped = await docker('helped', { credHelpers: { [host]: 'clusterprofile' } });
    const pushed = await crane(helped, ['append', '--new_layer', layer, '--new_tag', `${host}/team/app:1`]);
    assert.equal(pushed.exitCode, 0, pushed.stderr);
    const pulled = await crane(helped, ['export', `${host}/team/app:1`, join(folder, 'helped.tar')]);
    assert.equal(pulled.exitCode, 0, pulled.stderr);
    const { stdout } = await execa('tar', ['-xOf', join(folder, 'helped.tar'), 'hello']);
    assert.equal(stdout, 'hello');
    assert.equal(sts.actions.length, 0);

    const providers = ImageCredentialProviders.fromConfigFile(ofPod, {
      binDir,
      mintToken: async () => ({
        token: 'a-token-of-the-service-account',
        expirationTimestamp: new Date(Date.now() + 600_000).toISOString(),
      }),
    });
    const serviceAccount = {
      name: 'puller',
      namespace: 'default',
      uid: '1',
      annotations: { 'eks.amazonaws.com/ecr-role-arn': role },
    };
    const { config: written, failures } = await providers.toDockerConfig(`${host}/team/app`, { serviceAccount });
    assert.deepEqual(failures, []);
    assert.ok(sts.actions.includes('AssumeRoleWithWebIdentity'));
    const given = await crane(await docker('given', written), [
      'export',
      `${host}/team/app:1`,
      join(folder, 'given.tar'),
    ]);
    assert.equal(given.exitCode, 0, given.stderr);
    const refused = await crane(await docker('nobody', {}), ['manifest', `${host}/team/app:1`]);
    assert.notEqual(refused.exitCode, 0);
    assert.match(refused.stderr, /UNAUTHORIZED/);
  });
});
