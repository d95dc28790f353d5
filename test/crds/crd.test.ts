// What a real API server does with it and with the examples is in test/e2e/upstream-crd.e2e.ts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { read } from '../fixtures/docs.ts';

const crd = parse(read('crds/multicluster.x-k8s.io_clusterprofiles.yaml'));
const [version] = crd.spec.versions;
const { status } = version.schema.openAPIV3Schema.properties;

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
      assert.deepEqual(status.properties[list]['x-kubernetes-list-map-keys'], [key]);
    }
  });
});
