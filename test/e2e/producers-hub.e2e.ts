// Plugins that read Secrets of a real hub. docs/recipes/open-cluster-management.md, secrets-on-the-hub.md.
import assert from 'node:assert/strict';
import { request as forward } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { AuthenticationV1Api, CoreV1Api } from '@kubernetes/client-node';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { until } from '../fixtures/until.ts';
import type { ControlPlane } from './control-plane.ts';
import {
  adminFile,
  clusterOf,
  dist,
  isTaken,
  kubeconfigText,
  type Lifetime,
  lifetimeOf,
  serviceAccount,
  startPlane,
  whoAmI,
} from './fixture.ts';
import { listenWithTls } from './producers/internet.ts';
import { producer, profileOf, startRecipe, whoUnderBoth } from './producers/recipe.ts';

const user = 'system:serviceaccount:default:fleet-controller';

/** What cluster-proxy's user server does: `/spoke-1/...` leads to the spoke. */
async function startClusterProxy(life: Lifetime, spoke: ControlPlane) {
  const authority = createCertificateAuthority('cluster-proxy-ca');
  const leaf = authority.issue({ commonName: 'cluster-proxy-addon-user', ipAddresses: ['127.0.0.1'] });
  const port = await listenWithTls(life, leaf, (request, response) => {
    const path = (request.url ?? '').replace(/^\/spoke-1(?=\/)/, '');
    const { method, headers } = request;
    const options = { method, headers, ca: spoke.certificateAuthority.certificate };
    const onward = forward(`${spoke.server}${path}`, options, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  const certificate = Buffer.from(leaf.certificate).toString('base64');
  return { server: `https://127.0.0.1:${port}/spoke-1`, certificate };
}

/** A hub and a spoke, with functions to write Secrets of the hub, and the hub's kubeconfig for plugins. */
async function startHubAndSpoke(t: TestContext, namespace: string) {
  const life = lifetimeOf(t);
  const [hub, spoke] = await Promise.all([startPlane(life, 'hub'), startPlane(life, 'spoke')]);
  const core = hub.admin.makeApiClient(CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  const kubeconfig = await adminFile(t, hub);
  const write = async (name: string, stringData: Record<string, string>, labels: Record<string, string> = {}) => {
    await core.deleteNamespacedSecret({ namespace, name }).catch(() => {});
    await core.createNamespacedSecret({ namespace, body: { metadata: { name, labels }, stringData } });
  };
  return { life, spoke, kubeconfig, write, account: await serviceAccount(spoke, 'fleet-controller') };
}

describe('plugins that read Secrets of a real hub', () => {
  test("Open Cluster Management's plugin, behind a proxy whose own certificate is the profile's authority, through a rotation", async (t) => {
    const { life, spoke, kubeconfig, write, account } = await startHubAndSpoke(t, 'team-a');
    const { server, certificate } = await startClusterProxy(life, spoke);
    const token = await account.mint();
    await write('spoke-1-fleet-controller', { token });
    const recipe = await startRecipe(t, 'open-cluster-management', {
      command: producer('clusterprofile-credentials-plugin'),
      env: { KUBECONFIG: kubeconfig },
      servers: [server],
    });
    const change = { server, 'certificate-authority-data': certificate };
    const profile = await profileOf('open-cluster-management', spoke, change);
    const config = recipe.providers.getConfig(profile);
    assert.equal(await whoUnderBoth(t, config), user);
    assert.equal(await recipe.identify(profile), user);
    await recipe.isShown({ ...profile, metadata: { ...profile.metadata, namespace: 'team-b' } });

    await account.revoke();
    await write('spoke-1-fleet-controller', { token: await account.mint() });
    await until(t, async () => !(await isTaken(spoke, token)));
    assert.equal(await whoAmI(config.makeApiClient(AuthenticationV1Api)), user);

    await write('spoke-1-fleet-controller', { other: 'x' });
    config.invalidate();
    await assert.rejects(config.ready(), /secret team-a\/spoke-1-fleet-controller missing or empty "token" key/);
    await recipe.isShown(profile);
  });

  test('kubeconfig-secretreader with the rules of its recipe', async (t) => {
    const { spoke, kubeconfig, write, account } = await startHubAndSpoke(t, 'fleet-credentials');
    const cluster = clusterOf(spoke);
    const content = kubeconfigText(spoke, { token: await account.mint() });
    await write('spoke-1', { kubeconfig: content }, { 'fleet.example.dev/spoke': 'yes' });
    await write('unlabelled', { kubeconfig: content });
    const env = { KUBECONFIG: kubeconfig };
    const here = { command: dist('plugins/kubeconfig-secretreader.js'), env, servers: [spoke.server] };
    const recipe = await startRecipe(t, 'secrets-on-the-hub', here, 'plain');
    const ours = recipe.providers;
    const profile = (name: string) => {
      const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { name, key: 'kubeconfig' } }];
      return {
        status: { accessProviders: [{ name: 'kubeconfig-secretreader', cluster: { ...cluster, extensions } }] },
      };
    };
    assert.equal(await whoUnderBoth(t, ours.getConfig(profile('spoke-1'))), user);
    assert.equal(await recipe.identify(profile('spoke-1')), user);
    for (const name of ['unlabelled', 'spoke-9']) await recipe.isShown(profile(name));
    await assert.rejects(
      ours.getConfig(profile('unlabelled')).ready(),
      /does not have the label fleet\.example\.dev\/spoke=yes/,
    );
    await assert.rejects(
      ours.getConfig(profile('spoke-9')).ready(),
      /secret fleet-credentials\/spoke-9: it does not exist/,
    );
  });
});
