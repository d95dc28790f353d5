// eks-credentials with aws-iam-authenticator's server as the API server's webhook, and beside its client: docs/recipes/eks.md.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import fc from 'fast-check';
import { tokenFor } from '../../src/plugins/cloud/eks.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from './control-plane.ts';
import { words } from './differential.ts';
import { allow, dist, type Lifetime, lifetimeOf, startPlane } from './fixture.ts';
import { startInternet } from './producers/internet.ts';
import { producer, profileOf, startRecipe, whoUnderBoth } from './producers/recipe.ts';
import { startSts } from './producers/sts.ts';

const role = 'arn:aws:iam::123456789012:role/fleet-controller';
const tokenFile = '/var/run/secrets/eks.amazonaws.com/serviceaccount/token';

/** The authenticator's server for a cluster's name. Gives the file that tells an API server of it. */
async function startAuthenticator(t: TestContext, life: Lifetime, env: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder(t);
  const path = (name: string) => join(folder, name);
  const [config, webhook, state] = [path('config.yaml'), path('webhook.yaml'), path('state')];
  await mkdir(state);
  const mapRoles = [{ roleARN: role, username: 'fleet-controller', groups: [] }];
  await writeFile(config, JSON.stringify({ clusterID: 'spoke-1', server: { mapRoles } }));
  // Its health page would be open to the network: it goes without one where the port is taken.
  const health = createServer().listen(21_363, '127.0.0.1');
  await once(health, 'listening').catch(() => {});
  life.after(() => health.close());
  const port = await freePort();
  const files = [`--config=${config}`, `--state-dir=${state}`, `--generate-kubeconfig=${webhook}`];
  const args = ['server', ...files, `--port=${port}`];
  const server = execa(producer('aws-iam-authenticator'), args, {
    env: { ...env, AWS_REGION: 'eu-west-1', AWS_EC2_METADATA_DISABLED: 'true' },
    reject: false,
    all: true,
  });
  life.after(async () => {
    server.kill('SIGKILL');
    await server;
  });
  await until(t, () => existsSync(webhook) || server.nodeChildProcess.exitCode !== null);
  assert.ok(existsSync(webhook), server.nodeChildProcess.exitCode === null ? '' : (await server).all);
  return webhook;
}

describe('eks-credentials', () => {
  test("gives a token that aws-iam-authenticator's server takes, for the cluster that the profile names and no other", async (t) => {
    const life = lifetimeOf(t);
    const internet = await startInternet(life);
    const sts = await startSts(internet, { [role]: 'the-projected-token' });
    const webhook = await startAuthenticator(t, life, internet.env);
    const plane = await startPlane(life, 'eks', [
      `--authentication-token-webhook-config-file=${webhook}`,
      '--authentication-token-webhook-cache-ttl=0s',
    ]);
    await allow(plane, { kind: 'User', name: 'fleet-controller' });
    const token = join(await temporaryFolder(t), 'token');
    await writeFile(token, 'the-projected-token');
    const { HTTPS_PROXY, SSL_CERT_FILE } = internet.env;
    const recipe = await startRecipe(t, 'eks', {
      command: dist('plugins/eks-credentials.js'),
      files: { [tokenFile]: token },
      env: { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: SSL_CERT_FILE },
      servers: [plane.server],
    });

    const { providers } = recipe;
    const profile = await profileOf('eks', plane);
    const config = providers.getConfig(profile);
    assert.equal(await whoUnderBoth(t, config), 'fleet-controller');
    assert.equal(await recipe.identify(profile), 'fleet-controller');
    assert.ok(sts.actions.includes('AssumeRoleWithWebIdentity') && sts.actions.includes('GetCallerIdentity'));

    const named = (extension: object) =>
      profileOf('eks', plane, { extensions: [{ name: 'client.authentication.k8s.io/exec', extension }] });
    const other = await named({ clusterId: 'spoke-2', region: 'eu-west-1' });
    await assert.rejects(whoUnderBoth(t, providers.getConfig(other)), { code: 401 });
    await recipe.isShown(other);

    // What profiles may name is the operator's choice, and nothing of the identity is the profile's.
    const foreign = await named({ clusterId: 'prod-1', region: 'eu-west-1' });
    await assert.rejects(providers.getConfig(foreign).ready(), /may name only spoke-\* \(--profile-cluster\)/);
    await recipe.isShown(foreign);
    const asked = sts.actions.length;
    for (const [kind, extension] of [
      ['additional-args', ['--role-arn', `${role}-2`]],
      ['additional-envs', [{ name: 'AWS_ROLE_ARN', value: `${role}-2` }]],
    ] as const) {
      const extensions = [
        { name: `clusterprofiles.multicluster.x-k8s.io/exec/${kind}`, extension },
        { name: 'client.authentication.k8s.io/exec', extension: { clusterId: 'spoke-1', roleArn: `${role}-2` } },
      ];
      const own = providers.getConfig(await profileOf('eks', plane, { extensions }));
      assert.equal(await whoUnderBoth(t, own), 'fleet-controller');
    }
    assert.ok(sts.actions.length > asked);

    await writeFile(token, 'of another pod');
    config.invalidate();
    await assert.rejects(config.ready(), /InvalidIdentityToken/);
    await recipe.isShown(profile);
  });

  test('gives the tokens of aws-iam-authenticator for the same clock and keys: 100 random clusters, regions and sessions', async (t) => {
    const text = (min: number, max: number, unit: string) =>
      fc.string({ minLength: min, maxLength: max, unit: fc.constantFrom(...unit) });
    const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
    const cases = fc.record({
      cluster: text(1, 100, `${letters}-_`),
      region: words('eu-west-1|us-east-1|ap-southeast-5|cn-north-1|us-gov-west-1|us-iso-east-1'),
      id: text(16, 20, letters.toUpperCase()),
      secret: text(40, 40, `${letters}/+`),
      session: fc.option(text(20, 900, `${letters}/+=`), { nil: undefined }),
    });
    const seed = Number(process.env.E2E_SEED ?? 1);
    t.diagnostic(`seed ${seed}`);
    for (const { cluster, region, id, secret, session } of fc.sample(cases, { numRuns: 100, seed })) {
      const keys = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };
      const env = { ...keys, ...(session === undefined ? {} : { AWS_SESSION_TOKEN: session }), HOME: '/nowhere' };
      const args = ['token', '--cluster-id', cluster, '--region', region, '--token-only'];
      const { stdout: theirs } = await execa(producer('aws-iam-authenticator'), args, { env, extendEnv: false });
      const url = new URL(Buffer.from(theirs.replace('k8s-aws-v1.', ''), 'base64url').toString());
      const [, date = '', time = ''] = /^(\d+)T(\d+)Z$/.exec(url.searchParams.get('X-Amz-Date') ?? '') ?? [];
      const [year, month, day] = [date.slice(0, 4), date.slice(4, 6), date.slice(6)];
      const clock = Date.parse(`${year}-${month}-${day}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`);
      const ours = { accessKeyId: id, secretAccessKey: secret, sessionToken: session ?? '', expiresAt: undefined };
      assert.equal(tokenFor(cluster, region, ours, clock), theirs, `seed ${seed}: ${cluster} ${region} ${url.host}`);
    }
  });
});
