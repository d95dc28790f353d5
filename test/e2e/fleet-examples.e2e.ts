import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { V1ConfigMap } from '@kubernetes/client-node';
import { execa } from 'execa';
import { clusterKey } from '../../src/fleet/index.ts';
import { ApiError, type RestConfig, type Wire } from '../../src/index.ts';
import { publish, startHub, withdraw } from './crd.ts';
import { accessBy, adminFile, adminOf, clusterOf, lifetimeOf } from './fixture.ts';
import { soon } from './soon.ts';
import { kinds, startSpoke } from './spoke.ts';

const configMaps = { apiVersion: 'v1', kind: 'ConfigMap' };

test('the examples of a fleet, two replicas of each: copies, reports and finalizers are what the templates on the hub say', async (t) => {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  // A finalizer has room for 63 characters after its slash, and a profile may have a longer name.
  const long = 'payments-production-europe-west4-autopilot-1';
  const spokes = await Promise.all(['one', long].map((name) => startSpoke(life, name, kinds.token)));
  for (const { plane } of spokes) await publish(hub, plane.name, accessBy(plane.name, clusterOf(plane)));
  const admin = adminOf(life, hub);
  const mapsOf = (config: RestConfig, namespace: string) =>
    config.resource<Wire<V1ConfigMap>>({ ...configMaps, namespace });
  const templates = mapsOf(admin, 'templates');
  const reports = mapsOf(admin, 'reports');
  const [one, two] = spokes.map(({ plane }) => mapsOf(adminOf(life, plane), 'default'));
  assert.ok(one && two);
  for (const name of ['templates', 'reports'])
    await admin.resource({ apiVersion: 'v1', kind: 'Namespace' }).create({ metadata: { name } });

  const kubeconfig = await adminFile(t, hub);
  const flags = spokes.flatMap(({ plane, plugin }) => [
    '--clusterprofile-access-provider',
    `${plane.name}=${plugin.command}`,
  ]);
  const ended: string[] = [];
  const start = (...names: readonly string[]) =>
    names.flatMap((name) => ['a', 'b'].map((replica) => startReplica(name, replica)));
  const startReplica = (name: string, replica: string) => {
    const program = fileURLToPath(new URL(`../../examples/fleet/${name}.ts`, import.meta.url));
    const env = { KUBECONFIG: kubeconfig, POD_NAMESPACE: 'default', POD_NAME: `${name}-${replica}` };
    const child = execa(process.execPath, [program, ...flags], { env, all: true, reject: false });
    life.after(() => child.kill('SIGKILL'));
    child.then(({ all }) => ended.push(`${name} has ended: ${all}`));
    return { name, child };
  };
  /** Ends the programs. They have nothing to say but what is routine. */
  const stop = async (programs: ReturnType<typeof start>) => {
    for (const { child } of programs) child.kill('SIGTERM');
    for (const { name, child } of programs) {
      const { exitCode, all } = await child;
      assert.equal(exitCode, 0, `${name}: ${all}`);
      // What a cache has is a moment old: such a write is tried again. A busy API server closes watches, which begin again, and is slow to
      // answer.
      const routine = /^$|was answered with 40[49]|the watch of .* goes on in |a Lease of fleet .* no answer for /;
      const said = all.split('\n').filter((line) => !routine.test(line));
      assert.deepEqual(said, [], name);
    }
    ended.length = 0;
  };
  const has = async (maps: typeof templates, name: string) => {
    try {
      return await maps.get(name);
    } catch (error) {
      if (error instanceof ApiError && error.statusCode === 404) return undefined;
      throw error;
    }
  };
  const until = (what: string, holds: () => Promise<boolean>) =>
    soon(what, () => {
      assert.deepEqual(ended, []);
      return holds();
    });
  const copiesOf = async (name: string) => (await has(templates, name))?.metadata.annotations?.['example.dev/copies'];
  const finalizersOf = async (name: string) => (await has(templates, name))?.metadata.finalizers?.toSorted();

  const syncers = start('syncer');
  await templates.create({ metadata: { name: 'synced' }, data: { colour: 'red' } });
  for (const maps of [one, two])
    await until('each cluster has a copy', async () => (await has(maps, 'synced'))?.data?.colour === 'red');
  await templates.delete('synced');
  for (const maps of [one, two])
    await until('the copy has gone', async () => (await has(maps, 'synced')) === undefined);
  await stop(syncers);

  const programs = start('reporter', 'cleanup');
  for (const name of ['kept', 'deleted']) await templates.create({ metadata: { name }, data: { colour: 'red' } });
  for (const maps of [one, two])
    await until('each cluster has a copy', async () => (await has(maps, 'kept'))?.data?.colour === 'red');
  await until(
    'the hub says how many',
    async () => (await copiesOf('kept')) === '2' && (await copiesOf('deleted')) === '2',
  );
  assert.deepEqual(Object.keys((await has(reports, 'kept'))?.data ?? {}).toSorted(), [
    'default.one',
    `default.${long}`,
  ]);
  const finalizerOf = (cluster: string) => `cleanup.example.dev/${clusterKey(cluster)}`;
  const ofOne = finalizerOf('default/one');
  const both = [ofOne, finalizerOf(`default/${long}`)].toSorted();
  await until('each cluster holds the template', async () => (await finalizersOf('deleted'))?.join() === both.join());

  await templates.patch('kept', { data: { colour: 'blue' } });
  for (const maps of [one, two])
    await until('the copies follow', async () => (await has(maps, 'kept'))?.data?.colour === 'blue');
  await one.patch('kept', { data: { colour: 'green' } });
  await two.delete('kept');
  await until('what somebody changed is put right', async () => (await has(one, 'kept'))?.data?.colour === 'blue');
  await until('what somebody deleted is back', async () => (await has(two, 'kept'))?.data?.colour === 'blue');

  await templates.delete('deleted');
  await until('the template has gone', async () => (await has(templates, 'deleted')) === undefined);
  assert.deepEqual([await has(one, 'deleted'), await has(two, 'deleted')], [undefined, undefined], 'the copies first');
  await until('its report has gone', async () => (await has(reports, 'deleted')) === undefined);

  await until('each cluster holds the other one', async () => (await finalizersOf('kept'))?.join() === both.join());
  await withdraw(hub, long);
  await until('a cluster that has left holds nothing', async () => (await finalizersOf('kept'))?.join() === ofOne);
  assert.ok(await has(two, 'kept'), 'what it has stays');

  await stop(programs);
});
