// An image plugin gets the tokens of service accounts from a real API server (KEP-4412).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuthenticationV1Api, CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { mintTokenFrom, type ServiceAccount } from '../../src/image-credentials/index.ts';
import { anyIo, respond, startImageProviders } from '../fixtures/image-plugins.ts';
import { kubeconfigText, lifetimeOf, startPlane } from './fixture.ts';

describe('mintTokenFrom', () => {
  test('asks for a token of the account for the audience, keeps it, and says what the server refuses', async (t) => {
    const plane = await startPlane(lifetimeOf(t), 'image-tokens');
    const core = plane.admin.makeApiClient(CoreV1Api);
    const create = async (name: string): Promise<ServiceAccount> => {
      const body = { metadata: { name, annotations: { 'example.dev/role': name } } };
      const { metadata } = await core.createNamespacedServiceAccount({ namespace: 'default', body });
      assert.ok(metadata?.name && metadata.namespace && metadata.uid);
      return { name, namespace: metadata.namespace, uid: metadata.uid, annotations: metadata.annotations };
    };
    const [puller, other] = [await create('puller'), await create('other')];
    const tokenAttributes = {
      serviceAccountTokenAudience: 'registry.example.dev',
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredServiceAccountAnnotationKeys: ['example.dev/role'],
    };
    const plugin = { name: 'p', code: respond(anyIo, { cacheDuration: '0s' }), config: { tokenAttributes } };
    const start = async (config: KubeConfig) => {
      const started = await startImageProviders(t, [plugin], { mintToken: mintTokenFrom(config) });
      const failureOf = async (serviceAccount: ServiceAccount) => {
        const { failures } = await started.providers.getCredentials('gcr.io/a', { serviceAccount });
        return failures[0]?.error.message;
      };
      const token = async () => String(Reflect.get(Object(await started.input('p')), 'serviceAccountToken'));
      return { failureOf, token };
    };

    const { failureOf, token } = await start(plane.admin);
    assert.equal(await failureOf(puller), undefined);
    const first = await token();
    const body = { spec: { token: first, audiences: [tokenAttributes.serviceAccountTokenAudience] } };
    const { status } = await plane.admin.makeApiClient(AuthenticationV1Api).createTokenReview({ body });
    assert.equal(status?.user?.username, 'system:serviceaccount:default:puller');
    assert.deepEqual(status?.audiences, [tokenAttributes.serviceAccountTokenAudience]);
    await failureOf(puller);
    assert.equal(await token(), first);
    await failureOf(other);
    assert.notEqual(await token(), first);

    assert.match(
      (await failureOf({ ...puller, uid: other.uid })) ?? '',
      /answered 409, the service account has another/,
    );
    assert.match((await failureOf({ ...puller, name: 'nobody' })) ?? '', /answered 404, the service account does not/);
    // Anonymous requests may not.
    const nobody = new KubeConfig();
    nobody.loadFromString(kubeconfigText(plane, {}));
    const refused = await start(nobody);
    assert.match((await refused.failureOf(puller)) ?? '', /answered 403, RBAC must allow "create" on serviceaccounts/);
  });
});
