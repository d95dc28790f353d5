import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { shellPlugin } from '../fixtures/script.ts';
import { publish, startHub } from './crd.ts';
import { accessBy, adminFile, adminOf, clusterOf, lifetimeOf, serviceAccount, startPlane } from './fixture.ts';
import { startCrew } from './shards/replica.ts';
import { soon } from './soon.ts';

const configMaps = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' } as const;
const secrets = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' } as const;

test('three replicas make one child for each template, whatever is killed and restarts, on clusters with two profiles each', async (t) => {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  const kubeconfig = await adminFile(t, hub);
  const { command, folder } = await shellPlugin(t, 'cat "$DIR/$1"');
  const planes = await Promise.all(['one', 'two'].map((name) => startPlane(life, name)));
  for (const plane of planes) {
    const { mint } = await serviceAccount(plane, 'controller');
    const answer = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: await mint() },
    };
    await writeFile(join(folder, plane.name), JSON.stringify(answer));
    // The same cluster in two inventories.
    for (const name of [plane.name, `${plane.name}-again`])
      await publish(hub, name, accessBy(plane.name, clusterOf(plane)));
  }
  const configs = planes.map((plane) => adminOf(life, plane));
  const { living, start, end, check, told } = startCrew(life, { kubeconfig, command, durationMs: 6_000 }, 'children');
  let templates = 0;
  const create = async (count: number) => {
    for (let i = 0; i < count; i++, templates++)
      for (const config of configs)
        await config.resource(configMaps).create({ metadata: { name: `t${templates}`, labels: { app: 'template' } } });
  };
  /** By template, on each cluster. */
  const childrenNow = () =>
    Promise.all(
      configs.map(async (config) => {
        const { items } = await config.resource(secrets).list();
        return items.flatMap(({ metadata }) => (metadata.ownerReferences ?? []).map(({ name }) => name)).toSorted();
      }),
    );
  const phase = async (what: string, act: () => Promise<unknown>) => {
    await act();
    const wanted = Array.from({ length: templates }, (_, index) => `t${index}`).toSorted();
    const isComplete = (names: readonly string[]) => new Set(names).size === wanted.length;
    await soon(`${what}: all children`, async () => (await childrenNow()).every(isComplete), told);
    for (const names of await childrenNow()) assert.deepEqual(names, wanted, `${what}: a child twice`);
  };
  const kill = async () => {
    // In the middle of its work.
    const creating = create(10);
    await pause(100);
    await Promise.all([end('SIGKILL'), creating]);
    start();
  };

  await phase('three replicas start', async () => {
    await create(10);
    for (let i = 0; i < 3; i++) start();
  });
  await phase('kill -9 of one', kill);
  await phase('kill -9 of another one', kill);
  await phase('an API server of a cluster restarts', async () => {
    const [first = assert.fail()] = planes;
    await create(10);
    await Promise.all([first.restart(), pause(200)]);
    await create(5);
  });
  await phase('the API server of the hub restarts', async () => {
    const creating = create(10);
    await hub.restart();
    await creating;
  });
  await phase('kill -9 of all', async () => {
    for (const replica of living) replica.signal('SIGKILL');
    living.clear();
    await create(5);
    for (let i = 0; i < 3; i++) start();
  });
  check();
});
