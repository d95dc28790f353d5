// examples/backstage in a Backstage backend, with its own plugin from npm. docs/other-programs.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { z } from 'zod';
import { programEnvironment } from '../fixtures/program.ts';
import { shellPlugin, temporaryFolder } from '../fixtures/script.ts';
import { until } from '../fixtures/until.ts';
import { publish, startHub } from './crd.ts';
import { accessBy, adminFile, clusterOf, lifetimeOf, providerFile } from './fixture.ts';
import { startOther } from './others/program.ts';
import { startCertifiedSpoke, startRotatingSpoke } from './others/rotation.ts';

const answerSchema = z.object({
  clusters: z.array(z.object({ name: z.string(), title: z.string(), authProvider: z.string() })),
  objects: z.object({
    items: z.array(
      z.object({
        cluster: z.object({ name: z.string() }),
        resources: z.array(z.object({ resources: z.array(z.object({ metadata: z.object({ name: z.string() }) })) })),
        errors: z.array(z.object({ errorType: z.string(), message: z.string().optional() })),
      }),
    ),
  }),
  proxied: z.array(z.string()),
  said: z.array(z.string()),
});

test('@backstage/plugin-kubernetes-backend shows what two spokes have, by a token that is exchanged and by a certificate', async (t) => {
  const life = lifetimeOf(t);
  const [hub, one, two] = await Promise.all([
    startHub(life),
    startRotatingSpoke(life, 'one'),
    startCertifiedSpoke(life, 'two'),
  ]);
  const failing = await shellPlugin(t, 'exit 1');
  const cluster = clusterOf(one.plane);
  await publish(hub, 'one', accessBy('token', cluster));
  await publish(hub, 'two', accessBy('certificate', clusterOf(two.plane)));
  await publish(hub, 'behind', accessBy('token', { ...cluster, 'proxy-url': 'https://proxy.example.com' }));
  await publish(hub, 'named', accessBy('token', { ...cluster, 'tls-server-name': 'one.example.com' }));
  for (const [name, { plane }] of Object.entries({ one, two })) {
    const metadata = { name: `on-${name}`, labels: { 'backstage.io/kubernetes-id': 'demo' } };
    await plane.admin.makeApiClient(CoreV1Api).createNamespacedConfigMap({ namespace: 'default', body: { metadata } });
  }
  const commands = { token: one.plugin.command, certificate: two.plugin.command, failing: failing.command };

  const backstage = startOther(life, 'backstage', {
    ...programEnvironment(await temporaryFolder(t)),
    KUBECONFIG: await adminFile(t, hub),
    PROVIDER_FILE: await providerFile(t, commands),
  });
  const said: string[] = [];
  const ask = async () => {
    const answer = answerSchema.parse(await backstage.work());
    said.push(...answer.said);
    return answer;
  };
  const shown = async () => {
    const { objects, proxied } = await ask();
    assert.deepEqual(proxied, ['NamespaceList', 'NamespaceList']);
    return objects.items.map((item) => [
      item.cluster.name,
      item.resources.flatMap(({ resources }) => resources.map(({ metadata }) => metadata.name)),
      item.errors,
    ]);
  };
  await until(t, async () => (await ask()).clusters.length === 2);
  const { clusters } = await ask();
  assert.deepEqual(clusters, [
    { name: 'default/one', title: 'one', authProvider: 'clusterprofile' },
    { name: 'default/two', title: 'two', authProvider: 'clusterprofile' },
  ]);
  const both = [
    ['default/one', ['on-one'], []],
    ['default/two', ['on-two'], []],
  ];
  assert.deepEqual(await shown(), both);
  await one.rotate(t);
  assert.deepEqual(await shown(), both);
  assert.deepEqual(said.filter((line) => line.includes('left out')).toSorted(), [
    'default/behind is left out: Backstage knows no proxy-url, and it needs https://proxy.example.com',
    'default/named is left out: Backstage knows no tls-server-name, and it needs one.example.com',
  ]);

  await publish(hub, 'broken', accessBy('failing', clusterOf(two.plane)));
  await until(t, async () => (await ask()).clusters.length === 3);
  const { objects } = await ask();
  assert.deepEqual(
    objects.items.map((item) => [item.cluster.name, item.errors.map(({ errorType }) => errorType)]),
    [
      ['default/broken', ['FETCH_ERROR']],
      ['default/one', []],
      ['default/two', []],
    ],
  );
});
