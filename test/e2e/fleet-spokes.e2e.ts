import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { Fleet, type KubernetesObject } from '../../src/fleet/index.ts';
import { until } from '../fixtures/until.ts';
import { publish as publishProfile, setStatus, startHub, withdraw } from './crd.ts';
import { accessBy, adminOf, clusterOf, lifetimeOf } from './fixture.ts';
import { soon } from './soon.ts';
import { kinds, providersOf, type Spoke, startSpoke } from './spoke.ts';

const rounds = 30;
const openDescriptors = () => readdirSync('/dev/fd').length;

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

test('every object of every spoke is reconciled in the end, through restarts, rotations, a stopped spoke and profiles that come and go', async (t) => {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  const spokes = await Promise.all(
    Object.entries(kinds).map(([name, kind]) => startSpoke(life, name, kind, ['--etcd-compaction-interval=5s'])),
  );
  const providers = providersOf(life, spokes);
  const statusOf = ({ plane }: Spoke) => accessBy(plane.name, clusterOf(plane));
  const publish = (spoke: Spoke) => publishProfile(hub, spoke.plane.name, statusOf(spoke));
  for (const spoke of spokes) await publish(spoke);

  // What each object was reconciled as last, by cluster.
  const reconciled = new Map<string, Map<string, string | undefined>>(
    spokes.map(({ plane }) => [plane.name, new Map()]),
  );
  let engagements = 0;
  let reconciles = 0;
  const fleet = new Fleet({ hub: adminOf(life, hub), providers, namespaces: ['default'], logger: { warn: () => {} } });
  fleet.onEngage(() => {
    engagements += 1;
  });
  fleet.controller<ConfigMap>({
    name: 'configmaps',
    for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default' },
    reconcile: async ({ name }, { cluster, object }) => {
      reconciles += 1;
      // A request of its own, as reconciles make them: it has to survive what the watch survives.
      if (name.endsWith('0'))
        await cluster.config.makeApiClient(CoreV1Api).listNamespacedServiceAccount({ namespace: 'default' });
      reconciled.get(cluster.profile.metadata.name)?.set(name, object?.data?.v);
    },
  });
  const running = fleet.run();
  life.after(async () => {
    await fleet.close();
    await running;
  });
  await fleet.synced();

  const expected = new Map<string, Map<string, string | undefined>>(spokes.map(({ plane }) => [plane.name, new Map()]));
  const write = async (spoke: Spoke, round: number) => {
    const core = spoke.plane.admin.makeApiClient(CoreV1Api);
    const want = expected.get(spoke.plane.name);
    const name = `map-${round}`;
    await core.createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name }, data: { v: '1' } } });
    want?.set(name, '1');
    // A spoke that was stopped has missed some.
    const changed = `map-${round - 1}`;
    if (round % 3 === 2 && want?.has(changed)) {
      await core.replaceNamespacedConfigMap({
        name: changed,
        namespace: 'default',
        body: { metadata: { name: changed }, data: { v: '2' } },
      });
      want?.set(changed, '2');
    }
    if (round % 5 === 4 && want?.has(`map-${round - 2}`)) {
      await core.deleteNamespacedConfigMap({ name: `map-${round - 2}`, namespace: 'default' });
      want?.set(`map-${round - 2}`, undefined);
    }
  };
  const [first, second, third] = spokes;
  assert.ok(first && second && third);
  let resume = () => {};
  let stoppedAt = 0;
  let descriptors = 0;
  const began = performance.now();
  for (let round = 0; round < rounds; round++) {
    await Promise.all(
      spokes.map(async (spoke) => {
        await spoke.issue();
        // Nobody can write to a spoke that is stopped.
        if (spoke === third && round >= 5 && round < 20) return;
        await write(spoke, round);
      }),
    );
    if (round === 4) descriptors = openDescriptors();
    if (round === 3) {
      await first.revoke();
      await first.issue();
    }
    if (round === 5) {
      resume = third.plane.pause();
      stoppedAt = performance.now();
    }
    if (round === 8) await first.plane.restart();
    if (round === 10) await hub.restart();
    if (round === 12) {
      await withdraw(hub, second.plane.name);
      await publish(second);
    }
    if (round === 16) {
      const server = first.plane.server.replace('127.0.0.1', 'localhost');
      await setStatus(hub, first.plane.name, accessBy(first.plane.name, { ...clusterOf(first.plane), server }));
    }
    if (round === 19) {
      await pause(60_000 - (performance.now() - stoppedAt));
      resume();
    }
    await pause(700);
  }
  const missing = () =>
    [...expected].flatMap(([cluster, objects]) =>
      [...objects].flatMap(([name, value]) =>
        reconciled.get(cluster)?.get(name) === value && reconciled.get(cluster)?.has(name) ? [] : `${cluster}/${name}`,
      ),
    );
  const told = () => `${missing().join()}\n${JSON.stringify(fleet.list(), null, 1)}`;
  await soon('all is reconciled', () => missing().length === 0, told);
  assert.deepEqual(
    fleet.list().map(({ state }) => state),
    ['Engaged', 'Engaged', 'Engaged'],
  );
  const seconds = (performance.now() - began) / 1_000;
  const [plain = 0, ...expiring] = await Promise.all(spokes.map(({ plugin }) => plugin.runs()));
  // A token without expiry is fetched at first and when it is refused; a credential for 4 s at most every 2.8 s, and again for the profile
  // that came back.
  assert.ok(plain >= 2 && plain <= 3, `${plain} runs for a token that does not expire and was revoked once`);
  for (const count of expiring) assert.ok(count >= 3 && count <= seconds / 2.5 + 3, `${count} runs in ${seconds} s`);
  // Connections that nobody uses any more are closed after a while.
  await until(t, () => openDescriptors() <= descriptors + 6);
  const objects = [...expected.values()].reduce((sum, { size }) => sum + size, 0);
  t.diagnostic(
    `${objects} objects, ${reconciles} reconciles, ${engagements} engagements, none lost, in ${Math.round(seconds)} s; plugin runs ${[plain, ...expiring].join(', ')}`,
  );
});
