import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../../fixtures/api.ts';

const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'default', finalizers: ['example.com/x', 'example.com/y'] },
  spec: {
    replicas: 1,
    template: {
      spec: {
        containers: [
          {
            name: 'a',
            image: 'a:1',
            args: ['1', '2'],
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '1' },
            ],
          },
          { name: 'b', image: 'b:1', ports: [{ containerPort: 80, name: 'http' }] },
        ],
        tolerations: [{ key: 'x' }, { key: 'y' }],
        volumes: [{ name: 'v', emptyDir: {} }],
      },
    },
  },
};
const containers = (...list: readonly object[]) => ({ spec: { template: { spec: { containers: list } } } });

describe('a strategic merge patch', () => {
  const patches: readonly (readonly [
    what: string,
    patch: object,
    check: (object: typeof deployment) => unknown,
    expected: unknown,
  ])[] = [
    [
      'merges a list by the key of its elements',
      containers({ name: 'b', image: 'b:2' }),
      ({ spec }) => spec.template.spec.containers.map(({ name, image }) => `${name} ${image}`),
      ['a a:1', 'b b:2'],
    ],
    [
      'merges lists within lists',
      containers({
        name: 'a',
        env: [
          { name: 'Y', value: '2' },
          { name: 'Z', value: '2' },
        ],
      }),
      ({ spec }) => spec.template.spec.containers[0]?.env?.map(({ name, value }) => `${name}=${value}`),
      ['X=1', 'Y=2', 'Z=2'],
    ],
    [
      'replaces a list without a key',
      containers({ name: 'a', args: ['3'] }),
      ({ spec }) => spec.template.spec.containers[0]?.args,
      ['3'],
    ],
    [
      'adds an element',
      containers({ name: 'c', image: 'c:1' }),
      ({ spec }) => spec.template.spec.containers.map(({ name }) => name),
      ['c', 'a', 'b'],
    ],
    [
      'adds to a list of texts',
      { metadata: { finalizers: ['example.com/z'] } },
      ({ metadata }) => [...metadata.finalizers].sort(),
      ['example.com/x', 'example.com/y', 'example.com/z'],
    ],
    [
      'replaces lists that have no rule',
      { spec: { template: { spec: { tolerations: [{ key: 'z' }] } } } },
      ({ spec }) => spec.template.spec.tolerations,
      [{ key: 'z' }],
    ],
    [
      'takes away what is null',
      { spec: { template: { spec: { tolerations: null } } } },
      ({ spec }) => spec.template.spec.tolerations,
      undefined,
    ],
  ];
  for (const [what, patch, check, expected] of patches) {
    test(what, async (t) => {
      const { cluster, send } = await startApi(t);
      cluster.add(deployment);
      const { code, body } = await send('PATCH', '/apis/apps/v1/namespaces/default/deployments/d', patch, strategic);
      assert.equal(code, 200, JSON.stringify(body));
      assert.deepEqual(check(body), expected);
    });
  }

  test('that cannot be merged changes nothing', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(deployment);
    const wrong = [
      [containers({ image: 'c:1' }), 500],
      [containers({ name: 'a', $patch: 'delete' }), 501],
      [{ metadata: { '$setElementOrder/finalizers': ['example.com/x'] } }, 501],
      [[], 400],
    ] as const;
    for (const [patch, code] of wrong) {
      assert.equal(
        (await send('PATCH', '/apis/apps/v1/namespaces/default/deployments/d', patch, strategic)).code,
        code,
      );
    }
    assert.equal(cluster.get(deployment)?.metadata.generation, 1);
  });
});
