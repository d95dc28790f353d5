// The kinds of the conformance run, and what their objects hold. Nothing in them has a default that the fake does not know.
import type { JsonObject } from '../../../src/testing/api/json.ts';
import type { Random } from '../../fixtures/random.ts';

export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** It has a status subresource. */
  readonly status: boolean;
  readonly custom: boolean;
  /** What an object holds beside its metadata. */
  readonly content: (random: Random) => JsonObject;
}

const text = (random: Random) => random.pick(['1', '2', 'x']);
const base64 = (random: Random) => random.pick(['MQ==', 'Mg==']);
const times = ['2026-01-01T00:00:00.000001Z', '2026-01-01T01:00:00.123456+01:00'];
/** Hardly ever the same twice: who wrote the same number is a change for a real server. */
const other = (random: Random) => Math.floor(random.next() * 1e6);
const plain = { namespaced: true, status: false, custom: false };
const custom = { ...plain, custom: true };
const condition = (random: Random) => ({
  type: random.pick(['ControlPlaneHealthy', 'Joined']),
  status: random.pick(['True', 'False', 'Unknown']),
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'Because',
  message: text(random),
});

export const kinds: readonly Kind[] = [
  {
    ...plain,
    apiVersion: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    content: (random) => ({
      ...random.some(0.8, { data: { [random.pick(['a', 'b'])]: text(random), c: text(random) } }),
    }),
  },
  {
    ...plain,
    apiVersion: 'v1',
    kind: 'Secret',
    plural: 'secrets',
    content: (random) => ({
      ...random.some(0.6, { data: { [random.pick(['a', 'b'])]: base64(random) } }),
      ...random.some(0.5, { stringData: { [random.pick(['a', 'b'])]: text(random) } }),
    }),
  },
  {
    ...plain,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    plural: 'leases',
    content: (random) => ({
      spec: {
        holderIdentity: text(random),
        leaseDurationSeconds: random.pick([15, 30]),
        ...random.some(0.5, { leaseTransitions: random.pick([0, 1]) }),
        ...random.some(0.7, { renewTime: random.pick([...times, ...times, '2026-01-01T00:00:00.123Z', 'soon']) }),
      },
    }),
  },
  { ...plain, apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', content: () => ({}) },
  {
    ...custom,
    apiVersion: 'multicluster.x-k8s.io/v1alpha1',
    kind: 'ClusterProfile',
    plural: 'clusterprofiles',
    status: true,
    content: (random) => ({
      spec: { clusterManager: { name: 'm' }, ...random.some(0.5, { displayName: text(random) }) },
      ...random.some(0.5, {
        status: { version: { kubernetes: text(random) }, ...random.some(0.5, { conditions: [condition(random)] }) },
      }),
    }),
  },
  {
    ...custom,
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    plural: 'widgets',
    namespaced: false,
    status: true,
    content: (random) => ({
      spec: {
        replicas: other(random),
        color: text(random),
        ...random.some(0.3, { deep: { a: [1, { b: 2 }], c: null } }),
      },
      ...random.some(0.5, { status: { replicas: random.pick([0, 2]), selector: 'app=x' } }),
    }),
  },
  {
    ...custom,
    apiVersion: 'example.com/v1',
    kind: 'Gadget',
    plural: 'gadgets',
    content: (random) => ({
      ...random.some(0.8, { spec: { color: text(random) } }),
      ...random.some(0.5, { status: { seen: text(random) } }),
      ...random.some(0.2, { other: [text(random)] }),
    }),
  },
];

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const definition = (plural: string, kind: string, scope: string, version: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope,
    names: { kind, plural },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: anything, status: anything, other: { type: 'array', items: { type: 'string' } } },
          },
        },
        ...version,
      },
    ],
  },
});

export const definitions = [
  definition('widgets', 'Widget', 'Cluster', {
    subresources: {
      status: {},
    },
  }),
  definition('gadgets', 'Gadget', 'Namespaced', {}),
];

export const namespaces = ['conformance-1', 'conformance-2'];

/** The path of a kind's objects, in a namespace or in all of them. */
export function pathOf({ apiVersion, plural, namespaced }: Kind, namespace?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced && namespace !== undefined ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;
}
