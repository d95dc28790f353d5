import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mountedAt, textOf, textsOf } from '../../src/diagnose/pod-args.ts';
import { Failure } from '../../src/program/failure.ts';
import { containerOf } from '../../src/program/providers.ts';
import { thrownBy } from '../fixtures/thrown.ts';

const flag = '--clusterprofile-provider-file=/etc/c/providers.yaml';
const deployment = (containers: readonly object[], volumes: readonly object[] = []) => ({
  kind: 'Deployment',
  metadata: { name: 'fleet' },
  spec: { template: { spec: { containers, volumes } } },
});
const failure = (work: () => unknown): string => {
  const { message, hint } = thrownBy(Failure, work);
  return `${message} | ${hint}`;
};

describe('the container of a workload', () => {
  test('is the one that has our flags, in its command or its arguments, with variables as the kubelet fills them in', () => {
    const container = containerOf(
      deployment([
        { name: 'sidecar', args: ['--port=1'] },
        {
          name: 'controller',
          command: ['/controller', '--clusterprofile-plugin-timeout'],
          args: ['$(TIMEOUT)', '$$(TIMEOUT)', '$(FROM)', '$(NONE)'],
          env: [
            { name: 'TIMEOUT', value: '30s' },
            { name: 'FROM', valueFrom: {} },
          ],
        },
      ]),
      undefined,
    );
    assert.equal(container.name, 'controller');
    assert.deepEqual(textsOf(container), [
      '/controller',
      '--clusterprofile-plugin-timeout',
      '30s',
      '$(TIMEOUT)',
      '$(FROM)',
      '$(NONE)',
    ]);
  });

  test('is found in every kind that has pods', () => {
    const spec = { containers: [{ name: 'c', args: [flag] }] };
    for (const object of [
      { kind: 'Pod', spec },
      { kind: 'CronJob', spec: { jobTemplate: { spec: { template: { spec } } } } },
      { kind: 'StatefulSet', spec: { template: { spec } } },
    ]) {
      assert.equal(containerOf(object, undefined).name, 'c');
    }
  });

  test('is asked for where it is not clear', () => {
    const two = deployment([
      { name: 'a', args: [flag] },
      { name: 'b', args: [flag] },
    ]);
    assert.match(
      failure(() => containerOf(two, undefined)),
      /more than one container .* \| give --container: a, b$/,
    );
    assert.equal(containerOf(two, 'b').name, 'b');
    assert.match(
      failure(() => containerOf(two, 'c')),
      /Deployment fleet has no container c \| its containers are a, b$/,
    );
    assert.match(
      failure(() => containerOf(deployment([]), undefined)),
      /\(containers: none\) \| check whether it is the controller/,
    );
  });
});

describe('a file in a container', () => {
  const mounts = [
    { name: 'all', mountPath: '/etc/c' },
    { name: 'one', mountPath: '/etc/c/one.yaml', subPath: 'key' },
    { name: 'items', mountPath: '/items/' },
    { name: 'projected', mountPath: '/projected' },
    { name: 'disk', mountPath: '/disk' },
  ];
  const volumes = [
    { name: 'all', configMap: { name: 'providers' } },
    { name: 'one', secret: { secretName: 's' } },
    { name: 'items', configMap: { name: 'm', items: [{ key: 'k', path: 'deep/p.yaml' }] } },
    { name: 'projected', projected: { sources: [{ configMap: { name: 'p1' } }, { secret: { name: 'p2' } }] } },
    { name: 'disk', emptyDir: {} },
  ];
  const container = containerOf(deployment([{ name: 'c', args: [flag], volumeMounts: mounts }], volumes), undefined);

  for (const [path, expected] of [
    ['/etc/c/providers.yaml', [{ kind: 'ConfigMap', name: 'providers', key: 'providers.yaml' }]],
    ['/etc/c/one.yaml', [{ kind: 'Secret', name: 's', key: 'key' }]],
    ['/items/deep/p.yaml', [{ kind: 'ConfigMap', name: 'm', key: 'k' }]],
    ['/items/other.yaml', []],
    [
      '/projected/x',
      [
        { kind: 'ConfigMap', name: 'p1', key: 'x' },
        { kind: 'Secret', name: 'p2', key: 'x' },
      ],
    ],
    ['/disk/x', []],
    ['/etc/cx', []],
    ['/etc/c', []],
  ] as const) {
    test(`comes from what is mounted there: ${path}`, () => {
      assert.deepEqual(mountedAt(container, path), expected);
    });
  }

  test('is read as its kind keeps it', () => {
    const encoded = Buffer.from('text').toString('base64');
    assert.equal(textOf({ kind: 'ConfigMap', data: { k: 'text' } }, 'k'), 'text');
    assert.equal(textOf({ kind: 'ConfigMap', binaryData: { k: encoded } }, 'k'), 'text');
    assert.equal(textOf({ kind: 'Secret', data: { k: encoded } }, 'k'), 'text');
    assert.equal(textOf({ kind: 'Secret', stringData: { k: 'text' } }, 'k'), 'text');
    assert.equal(textOf({ kind: 'Secret', data: {} }, 'k'), undefined);
  });
});
