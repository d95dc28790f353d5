// TokenRequest against FakeCluster, which answers as a real API server does; what a server refuses is in tokens.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { mintTokenFrom, type ServiceAccount } from '../../src/image-credentials/index.ts';
import { startCluster } from '../fixtures/fleet.ts';
import { anyIo, respond, startImageProvider, tokenAttributes } from '../fixtures/image-plugins.ts';

test('mintTokenFrom asks the API server for a token of the account for the audience, once', async (t) => {
  const cluster = await startCluster(t);
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const core = config.makeApiClient(CoreV1Api);
  const body = { metadata: { name: 'sa' } };
  const { metadata } = await core.createNamespacedServiceAccount({ namespace: 'default', body });
  assert.ok(metadata?.uid);
  const serviceAccount: ServiceAccount = { namespace: 'default', name: 'sa', uid: metadata.uid };
  const plugin = { code: respond(anyIo, { cacheDuration: '0s' }), config: { tokenAttributes } };
  const { providers, input } = await startImageProvider(t, plugin, { mintToken: mintTokenFrom(config) });
  let minted = 0;
  cluster.onRequest = ({ url }) => {
    if (url.includes('/serviceaccounts/sa/token')) minted += 1;
  };
  for (let i = 0; i < 3; i++) {
    assert.deepEqual((await providers.getCredentials('gcr.io/a', { serviceAccount })).failures, []);
  }
  const token = String(Reflect.get(Object(await input('p')), 'serviceAccountToken'));
  const { sub, aud } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  assert.deepEqual([sub, aud], ['system:serviceaccount:default:sa', ['registry']]);
  assert.equal(minted, 1);
});
