import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ApiException, CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import fc from 'fast-check';
import { parse } from 'yaml';
import { z } from 'zod';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { kubectlOf, profiles, publish, readYamlFile, registerCrd } from './crd.ts';
import { programs } from './fixture.ts';
import { upstreamFolder, upstreamVersions } from './go-programs.ts';

/** The part of OpenAPI that the CRD is written in. */
interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** What a schema allows, and now and then what it does not. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, properties, items, required = [] } = schema;
  const odd = fc.constantFrom<unknown>(7, 'text', true, ['x'], { a: 1 }, '');
  const often = (usual: fc.Arbitrary<unknown>) => fc.oneof({ weight: 150, arbitrary: usual }, odd);
  if (type === 'object' && properties) {
    const fields = Object.entries(properties).map(([name, field]) => [name, valuesOf(field)] as const);
    return often(fc.record(Object.fromEntries(fields), { requiredKeys: [...required] }));
  }
  // What an extension holds.
  if (type === 'object')
    return often(fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }));
  if (type === 'array' && items) {
    const [key = ''] = schema['x-kubernetes-list-map-keys'] ?? [];
    const keyOf = (item: unknown) => (typeof item === 'object' && item !== null ? Reflect.get(item, key) : item);
    const unique = fc.uniqueArray(valuesOf(items), { maxLength: 2, ...(key === '' ? {} : { selector: keyOf }) });
    return often(fc.oneof({ weight: 60, arbitrary: unique }, fc.array(valuesOf(items), { maxLength: 3 })));
  }
  if (type === 'boolean') return often(fc.boolean());
  if (type === 'integer') return often(fc.oneof({ weight: 30, arbitrary: fc.nat() }, fc.constant(-1)));
  const { format, pattern, minLength = 0 } = schema;
  if (schema.enum) return often(fc.constantFrom(...schema.enum));
  if (format === 'date-time') return often(fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02T03:04:05+01:00'));
  if (format === 'byte') return often(fc.base64String({ maxLength: 12 }));
  if (pattern) return often(fc.stringMatching(new RegExp(pattern)).filter((text) => text.length < 300));
  return often(fc.string({ minLength, maxLength: 12 }));
}

const crdSchema = z.object({
  spec: z.object({
    versions: z.tuple([z.object({ schema: z.object({ openAPIV3Schema: z.custom<Schema>() }) })]),
  }),
});

describe("our CRD beside the Go library's", () => {
  let upstream: ControlPlane;
  let plane: ControlPlane;
  let custom: CustomObjectsApi;
  before(async () => {
    [upstream, plane] = await Promise.all([
      startControlPlane(programs, 'upstream'),
      startControlPlane(programs, 'ours'),
    ]);
    custom = plane.admin.makeApiClient(CustomObjectsApi);
    await registerCrd(plane);
    await plane.admin.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: 'fleet-system' } } });
  });
  after(() => Promise.all([upstream.close(), plane.close()]));

  for (const [round, version] of upstreamVersions.entries()) {
    test(`takes and keeps what is written for cluster-inventory-api ${version}, and refuses what it refuses`, async () => {
      const path = join(await upstreamFolder(version), 'config/crd/bases/multicluster.x-k8s.io_clusterprofiles.yaml');
      const { spec } = crdSchema.parse(parse(await readFile(path, 'utf8')));
      const schema = spec.versions[0].schema.openAPIV3Schema;
      if (round > 0) await kubectlOf(upstream, 'delete', 'crd', 'clusterprofiles.multicluster.x-k8s.io');
      await registerCrd(upstream, path);

      const { spec: specSchema = {}, status: statusSchema = {} } = schema.properties ?? {};
      const objects = fc.record({ spec: valuesOf(specSchema), status: valuesOf(statusSchema) });
      let taken = 0;
      // One after the other: an API server closes connections that ask for too much at once.
      for (const [index, object] of fc.sample(objects, { numRuns: 300, seed: round }).entries()) {
        const name = `profile-${round}-${index}`;
        const [theirs, ours] = await Promise.all([store(upstream, name, object), store(plane, name, object)]);
        // Ours takes any JSON as an extension.
        const wider = /"extension":[^{]/.test(JSON.stringify(object));
        if (theirs !== undefined || !wider) assert.deepEqual(ours, theirs, JSON.stringify(object));
        if (theirs !== undefined) taken += 1;
      }
      assert.ok(taken > 100 && taken < 300, `${taken} were taken`);
    });
  }

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

/** What a server keeps of an object, or `undefined` where it refuses it. */
async function store(
  plane: ControlPlane,
  name: string,
  { spec, status }: { spec: unknown; status: unknown },
): Promise<unknown> {
  const custom = plane.admin.makeApiClient(CustomObjectsApi);
  const key = { ...profiles, namespace: 'default', name };
  const type = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' };
  try {
    const body = { ...type, metadata: { name, namespace: 'default' }, spec };
    const created = await custom.createNamespacedCustomObject({ ...key, body });
    const kept = await custom.replaceNamespacedCustomObjectStatus({ ...key, body: { ...created, status } });
    return { spec: kept.spec, status: kept.status };
  } catch (error) {
    if (error instanceof ApiException && (error.code === 422 || error.code === 400)) return undefined;
    throw error;
  }
}
