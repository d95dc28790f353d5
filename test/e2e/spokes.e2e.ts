import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  CoreV1Api,
  CustomObjectsApi,
  type Informer,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import type { ClusterProfile, RestConfig } from '../../src/index.ts';
import { profiles, publish as publishProfile, startHub } from './crd.ts';
import { accessBy, clusterOf, lifetimeOf } from './fixture.ts';
import { kinds, providersOf, type Spoke, startSpoke } from './spoke.ts';

const openDescriptors = () => readdirSync('/dev/fd').length;

/** Starts an informer, and again after each error, as controllers do: the server may be away. */
async function keepWatching<T extends KubernetesObject>(informer: Informer<T>, wanted: () => boolean): Promise<void> {
  const start = async () => {
    while (wanted()) {
      const started = await informer.start().then(
        () => true,
        () => false,
      );
      if (started) return;
      await pause(200);
    }
  };
  informer.on('error', async () => {
    await pause(200);
    await start();
  });
  await start();
}

describe('a controller with a hub and three spokes', () => {
  test('misses no event through rotations, a restart, and profiles that come and go', async (t) => {
    const life = lifetimeOf(t);
    const hub = await startHub(life);
    const spokes = await Promise.all(Object.entries(kinds).map(([name, kind]) => startSpoke(life, name, kind)));
    const providers = providersOf(life, spokes);

    // The cluster manager's part.
    const custom = hub.admin.makeApiClient(CustomObjectsApi);
    const publish = ({ plane }: Spoke) => publishProfile(hub, plane.name, accessBy(plane.name, clusterOf(plane)));
    for (const spoke of spokes) await publish(spoke);

    // The controller: an informer on the hub, and for each profile one on its spoke, until the profile is deleted.
    const seen = new Map<string, Set<string>>(spokes.map(({ plane }) => [plane.name, new Set()]));
    const configs = new Map<string, { readonly config: RestConfig; stop(): Promise<void> }>();
    let reconciles = 0;
    let stopped = false;
    life.after(async () => {
      stopped = true;
      for (const { stop } of configs.values()) await stop();
    });
    const reconcile = async (profile: ClusterProfile) => {
      const name = profile.metadata?.name ?? '';
      if (!profile.status?.accessProviders?.length) return;
      reconciles += 1;
      // Called in every reconcile, as controllers do.
      const config = providers.getConfig(profile);
      if (configs.has(name)) return;
      const core = config.makeApiClient(CoreV1Api);
      const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', () =>
        core.listNamespacedConfigMap({ namespace: 'default' }),
      );
      informer.on('add', ({ metadata }) => seen.get(name)?.add(metadata?.name ?? ''));
      const watched = {
        config,
        stop: async () => {
          configs.delete(name);
          await informer.stop();
          await config.close();
        },
      };
      configs.set(name, watched);
      await keepWatching(informer, () => configs.get(name) === watched);
    };
    const watching = makeInformer<ClusterProfile & KubernetesObject>(
      hub.admin,
      '/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles',
      async () => custom.listClusterCustomObject(profiles),
    );
    watching.on('add', reconcile);
    watching.on('update', reconcile);
    watching.on('delete', ({ metadata }) => configs.get(metadata?.name ?? '')?.stop());
    await keepWatching(watching, () => !stopped);
    life.after(() => watching.stop());

    // What happens meanwhile.
    const created = new Map<string, string[]>(spokes.map(({ plane }) => [plane.name, []]));
    const began = performance.now();
    let requests = 0;
    let descriptors = 0;
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        spokes.map(async ({ plane, issue }) => {
          await issue();
          const name = `map-${round}`;
          await plane.admin
            .makeApiClient(CoreV1Api)
            .createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name } } });
          created.get(plane.name)?.push(name);
        }),
      );
      const [first, second] = spokes;
      if (round === 3) {
        await first?.revoke();
        await first?.issue();
      }
      if (round === 6) descriptors = openDescriptors();
      if (round === 8) await first?.plane.restart();
      if (round === 12 && second) {
        const key = { ...profiles, namespace: 'default', name: second.plane.name };
        await custom.deleteNamespacedCustomObject(key);
        await publish(second);
      }
      // A controller asks now and then; a watch alone needs no new credential.
      for (const { config } of configs.values()) {
        await config.makeApiClient(CoreV1Api).listNamespace();
        requests += 1;
      }
      await pause(1_000);
    }
    const seconds = (performance.now() - began) / 1_000;
    for (const [name, names] of created) {
      const patience = performance.now() + 40_000;
      const missing = () => names.filter((map) => !seen.get(name)?.has(map));
      while (missing().length > 0) {
        assert.ok(performance.now() < patience, `${name} has missed ${missing().join()}`);
        await pause(50);
      }
    }
    const runs = await Promise.all(spokes.map(({ plugin }) => plugin.runs()));
    const [plain = 0, ...expiring] = runs;
    // A token without expiry is fetched at first and when it is refused; a credential for 4 s at most every 2.8 s, and again for the profile that came back.
    assert.ok(plain >= 2 && plain <= 3, `${plain} runs for a token that does not expire and was revoked once`);
    for (const count of expiring) assert.ok(count >= 3 && count <= seconds / 2.5 + 3, `${count} runs in ${seconds} s`);
    assert.match(inspect(providers), /connections: 3,\s+sources: 3/);
    assert.ok(openDescriptors() <= descriptors + 6, `${openDescriptors()} descriptors, ${descriptors} before`);
    t.diagnostic(
      `3 spokes, ${Math.round(seconds)} s, ${20 * 3} objects, none missed; ${requests} requests, none failed; plugin runs ${runs.join(', ')}; ${reconciles} reconciles`,
    );
  });
});
