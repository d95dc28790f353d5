// aws-iam-authenticator as the plugin, and its own server as the API server's webhook: docs/recipes/eks.md.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { PluginError } from '../../src/index.ts';
import { temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';
import { freePort } from './control-plane.ts';
import { allow, type Lifetime, lifetimeOf, startPlane } from './fixture.ts';
import { startInternet } from './producers/internet.ts';
import { producer, profileOf, startRecipe, whoUnderBoth } from './producers/recipe.ts';
import { startSts } from './producers/sts.ts';

const role = 'arn:aws:iam::123456789012:role/fleet-controller';
const tokenFile = '/var/run/secrets/eks.amazonaws.com/serviceaccount/token';

/** The authenticator's server for a cluster's name. Gives the file that tells an API server of it. */
async function startAuthenticator(t: TestContext, life: Lifetime, env: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder(t);
  const [config, webhook, state] = ['config.yaml', 'webhook.yaml', 'state'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]; // three names, three paths
  await mkdir(state);
  const mapRoles = [{ roleARN: role, username: 'fleet-controller', groups: [] }];
  await writeFile(config, JSON.stringify({ clusterID: 'spoke-1', server: { mapRoles } }));
  // Its health page would be open to the network: it goes without one where the port is taken.
  const health = createServer().listen(21_363, '127.0.0.1');
  await once(health, 'listening').catch(() => {});
  life.after(() => health.close());
  const port = await freePort();
  const args = [
    'server',
    '--config',
    config,
    '--state-dir',
    state,
    '--generate-kubeconfig',
    webhook,
    '--port',
    `${port}`,
  ];
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

describe('aws-iam-authenticator', () => {
  test('gives a token that its own server takes, for the cluster that the profile names and no other', async (t) => {
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
    const recipe = await startRecipe(t, 'eks', {
      command: producer('aws-iam-authenticator'),
      files: { [tokenFile]: token },
      env: internet.env,
      servers: [plane.server],
    });

    const { providers } = recipe;
    const profile = await profileOf('eks-arguments', plane);
    const config = providers.getConfig(profile);
    assert.equal(await whoUnderBoth(t, config), 'fleet-controller');
    assert.equal(await recipe.identify(profile), 'fleet-controller');
    assert.ok(sts.actions.includes('AssumeRoleWithWebIdentity') && sts.actions.includes('GetCallerIdentity'));

    const extension = ['--cluster-id=spoke-2'];
    const extensions = [{ name: 'clusterprofiles.multicluster.x-k8s.io/exec/additional-args', extension }];
    const other = await profileOf('eks-arguments', plane, { extensions });
    await assert.rejects(whoUnderBoth(t, providers.getConfig(other)), { code: 401 });
    await recipe.isShown(other);

    // The shape of another plugin's profiles: the name of the cluster is where this one does not look.
    const shapeOfOther = await profileOf('eks', plane);
    const foreign = providers.getConfig(shapeOfOther);
    await assert.rejects(foreign.ready(), (error: unknown) => {
      assert.ok(error instanceof PluginError && error.code === 'PLUGIN_FAILED', String(error));
      assert.match(error.message, /cluster ID not specified/);
      return true;
    });
    await recipe.isShown(shapeOfOther);
    assert.match(foreign.access.ignored[0]?.reason ?? '', /provideClusterInfo/);

    await writeFile(token, 'of another pod');
    config.invalidate();
    await assert.rejects(config.ready(), /InvalidIdentityToken/);
    await recipe.isShown(profile);
  });
});
