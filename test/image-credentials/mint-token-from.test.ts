// TokenRequest against FakeCluster, which answers as a real API server does; what a server refuses is in tokens.test.ts.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { mintTokenFrom, type ServiceAccount } from '../../src/image-credentials/index.ts';
import { startCluster } from '../fixtures/fleet.ts';
import { anyIo, respond, startImageProviders, tokenAttributes } from '../fixtures/image-plugins.ts';

async function start(t: TestContext) {
  const cluster = await startCluster(t);
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const core = config.makeApiClient(CoreV1Api);
  const body = { metadata: { name: 'sa' } };
  const { metadata } = await core.createNamespacedServiceAccount({ namespace: 'default', body });
  assert.ok(metadata?.uid);
  const serviceAccount: ServiceAccount = { namespace: 'default', name: 'sa', uid: metadata.uid };
  const attributes = { ...tokenAttributes, serviceAccountTokenAudience: 'registry.example.dev' };
  const code = respond(anyIo, { cacheDuration: '0s' });
  const plugin = { name: 'p', code, config: { tokenAttributes: attributes } };
  const mintToken = mintTokenFrom(config);
  const { providers, input } = await startImageProviders(t, [plugin], { mintToken });
  let minted = 0;
  cluster.onRequest = ({ url }) => {
    if (url.includes('/serviceaccounts/sa/token')) minted += 1;
  };
  const pull = async () => {
    const { failures } = await providers.getCredentials('gcr.io/a', { serviceAccount });
    return failures[0]?.error.message;
  };
  const claims = async (): Promise<Record<string, unknown>> => {
    const token = String(Reflect.get(Object(await input('p')), 'serviceAccountToken'));
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  };
  return { pull, claims, minted: () => minted };
}

describe('mintTokenFrom', () => {
  test('asks the API server for a token of the account for the audience, once', async (t) => {
    const { pull, claims, minted } = await start(t);
    for (let i = 0; i < 3; i++) assert.equal(await pull(), undefined);
    const { sub, aud } = await claims();
    assert.deepEqual([sub, aud], ['system:serviceaccount:default:sa', ['registry.example.dev']]);
    assert.equal(minted(), 1);
  });
});
