import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { profiles, publish, readYamlFile, registerCrd } from './crd.ts';
import { programs } from './fixture.ts';

describe('the CRD on a real API server', () => {
  let plane: ControlPlane;
  let custom: CustomObjectsApi;
  before(async () => {
    plane = await startControlPlane(programs, 'crd');
    custom = plane.admin.makeApiClient(CustomObjectsApi);
    await registerCrd(plane);
    await plane.admin.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: 'fleet-system' } } });
  });
  after(() => plane.close());

  for (const file of readdirSync(new URL('../../examples/profiles/', import.meta.url))) {
    test(`takes examples/profiles/${file} and gives it back unchanged`, async () => {
      const profile = readYamlFile(`examples/profiles/${file}`);
      const { namespace = 'default', name } = profile.metadata;
      const key = { ...profiles, namespace, name };
      const refused = (work: Promise<unknown>) => assert.rejects(work, { code: 422 });
      const created = await custom.createNamespacedCustomObject({ ...key, body: profile });
      assert.ok(!created.status, 'the status is a subresource');
      const body = { ...created, status: profile.status };
      const stored = await custom.replaceNamespacedCustomObjectStatus({ ...key, body });
      assert.deepEqual(stored.status, profile.status);
      const again = await custom.getNamespacedCustomObject(key);
      assert.deepEqual([again.spec, again.status], [profile.spec, profile.status]);
      const replaced = await custom.replaceNamespacedCustomObject({ ...key, body: { ...again, status: {} } });
      assert.deepEqual(replaced.status, profile.status);
      // KEP-4322: whose cluster it is cannot be changed.
      const spec = { ...again.spec, clusterManager: { name: 'another' } };
      await refused(custom.replaceNamespacedCustomObject({ ...key, body: { ...replaced, spec } }));
      // Lists are maps by name: one twice is refused.
      const { accessProviders: [first] = [] } = profile.status;
      const twice = { ...replaced, status: { ...profile.status, accessProviders: [first, first] } };
      await refused(custom.replaceNamespacedCustomObjectStatus({ ...key, body: twice }));
    });
  }

  test('takes any JSON as an extension: the KEP has additional-args as a list', async () => {
    const key = { ...profiles, namespace: 'default', name: 'extensions' };
    const values = [['--flag', 1, true], { a: { b: [null] } }, 'text', 7, false];
    const extensions = values.map((extension, index) => ({ name: `extension-${index}`, extension }));
    const status = { accessProviders: [{ name: 'x', cluster: { server: 'https://h', extensions } }] };
    await publish(plane, key.name, status);
    assert.deepEqual((await custom.getNamespacedCustomObject(key)).status, status);
  });
});
