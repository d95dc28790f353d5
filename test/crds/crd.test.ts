import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { read, root } from '../fixtures/docs.ts';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string }[];
}

const crd = parse(read('crds/multicluster.x-k8s.io_clusterprofiles.yaml'));
const [version] = crd.spec.versions;
const schema: Schema = version.schema.openAPIV3Schema;

function field(...path: readonly string[]): Schema {
  return path.reduce<Schema>((at, name) => {
    const next = name === '[]' ? at.items : at.properties?.[name];
    assert.ok(next, `${path.join('.')}: no ${name}`);
    return next;
  }, schema);
}

/** The paths in a value that a schema does not know, and the required ones that are missing. */
function faults(value: unknown, at: Schema, path: string): string[] {
  if (at['x-kubernetes-preserve-unknown-fields']) return [];
  if (Array.isArray(value)) {
    const { items } = at;
    return items ? value.flatMap((item, index) => faults(item, items, `${path}[${index}]`)) : [`${path} is a list`];
  }
  if (typeof value !== 'object' || value === null)
    return at.type === typeof value ? [] : [`${path} is ${typeof value}`];
  if (path === '.metadata') return [];
  const missing = (at.required ?? []).filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`);
  const inside = Object.entries(value).flatMap(([name, item]) => {
    const property = at.properties?.[name];
    return property ? faults(item, property, `${path}.${name}`) : [`${path}.${name} is unknown`];
  });
  return [...missing, ...inside];
}

describe('the ClusterProfile CRD', () => {
  test('has the names, scope and version of upstream', () => {
    assert.equal(crd.metadata.name, 'clusterprofiles.multicluster.x-k8s.io');
    assert.deepEqual(crd.spec.names, {
      kind: 'ClusterProfile',
      listKind: 'ClusterProfileList',
      plural: 'clusterprofiles',
      singular: 'clusterprofile',
    });
    assert.deepEqual(
      [crd.spec.group, crd.spec.scope, version.name],
      ['multicluster.x-k8s.io', 'Namespaced', 'v1alpha1'],
    );
    assert.deepEqual([version.served, version.storage, version.subresources], [true, true, { status: {} }]);
  });

  test('has list keys, so that each access type, property and condition stands once', () => {
    for (const [list, key] of [
      ['accessProviders', 'name'],
      ['credentialProviders', 'name'],
      ['properties', 'name'],
      ['conditions', 'type'],
    ] as const) {
      assert.deepEqual(field('status', list)['x-kubernetes-list-map-keys'], [key]);
    }
  });

  test('lets nobody change the cluster manager', () => {
    assert.equal(field('spec', 'clusterManager')['x-kubernetes-validations']?.[0]?.rule, 'self == oldSelf');
  });

  test('takes any JSON as an extension, a list of arguments too', () => {
    for (const list of ['accessProviders', 'credentialProviders']) {
      const extension = field('status', list, '[]', 'cluster', 'extensions', '[]', 'extension');
      assert.deepEqual([extension.type, extension['x-kubernetes-preserve-unknown-fields']], [undefined, true]);
    }
  });

  for (const file of readdirSync(`${root}examples/profiles`)) {
    test(`knows every field of examples/profiles/${file}`, () => {
      assert.deepEqual(faults(parse(read(`examples/profiles/${file}`)), schema, ''), []);
    });
  }
});
