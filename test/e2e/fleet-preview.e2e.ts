import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node';
import { CoreV1Api } from '@kubernetes/client-node';
import { type ClusterChange, Fleet, type FleetOptions, setControllerReference } from '../../src/fleet/index.ts';
import type { RestConfig, Wire } from '../../src/index.ts';
import { ApiServer } from '../../src/rest/api/api-server.ts';
import { changesBetween } from '../../src/rest/request/previewed-writes.ts';
import { readBeginning } from '../../src/util/printable.ts';
import { until } from '../fixtures/until.ts';
import { profiles, publish, startHub, withdraw } from './crd.ts';
import { accessBy, adminOf, clusterOf, lifetimeOf } from './fixture.ts';
import { kinds, providersOf, startSpoke } from './spoke.ts';

const configMaps = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', fieldManager: 'test' } as const;

/** A hub with spokes, and fleets for them. */
async function startServers(t: TestContext, names: readonly string[]) {
  const life = lifetimeOf(t);
  const hub = await startHub(life);
  const spokes = await Promise.all(names.map((name) => startSpoke(life, name, kinds.token)));
  for (const { plane } of spokes) await publish(hub, plane.name, accessBy(plane.name, clusterOf(plane)));
  const providers = providersOf(life, spokes);
  const make = (options: Partial<FleetOptions> = {}) => {
    const common = { providers, namespaces: ['default'], logger: { warn: () => {} } };
    const fleet = new Fleet({ hub: adminOf(life, hub), ...common, ...options });
    life.after(() => fleet.close());
    return fleet;
  };
  return { life, hub, spokes: spokes.map(({ plane }) => plane), make };
}

/** Writes that a server has stored, as it counts them, but for its own and the Leases of its peers. */
async function storedWrites(config: RestConfig): Promise<number> {
  const { body } = await new ApiServer(config).get('/metrics', { signal: AbortSignal.timeout(10_000) });
  const lines = (await readBeginning(body, 1e8)).toString().matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm);
  let sum = 0;
  for (const [, labels = '', value] of lines) {
    const isWrite = /verb="(?:POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION)"/.test(labels) && /code="2/.test(labels);
    const isOurs = /resource="(?:configmaps|secrets|events|serviceaccounts|pods)"/.test(labels);
    if (isWrite && isOurs && /dry_run=""/.test(labels)) sum += Number(value);
  }
  return sum;
}

/** Makes a child with a name of the server's for each template, keeps a copy of it, drops what is old, and counts on the hub. */
function addController(fleet: Fleet, failures: unknown[]) {
  let reconciles = 0;
  fleet.controller({
    name: 'templates',
    for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', labelSelector: 'app=template' },
    owns: [{ apiVersion: 'v1', kind: 'Secret', namespace: 'default' }],
    reconcile: async ({ name }, { cluster, object, hub }) => {
      try {
        if (!object) return;
        const secrets = cluster.resource<Wire<V1Secret>>({ ...configMaps, kind: 'Secret' });
        const children = cluster
          .informer({ apiVersion: 'v1', kind: 'Secret', namespace: 'default' })
          .childrenOf(object);
        if (children.length === 0) {
          const child = {
            metadata: { generateName: `${name}-`, namespace: 'default' },
            stringData: { password: 'hunter2' },
          };
          await secrets.create(setControllerReference(object, child));
        }
        const maps = cluster.resource<Wire<V1ConfigMap>>(configMaps);
        await maps.apply({ metadata: { name: `${name}-copy` }, data: { of: name } }, { force: true });
        if (await maps.find(`${name}-old`)) await maps.delete(`${name}-old`);
        const core = cluster.config.makeApiClient(CoreV1Api);
        await core.patchNamespacedServiceAccount({
          namespace: 'default',
          name: 'default',
          body: [{ op: 'add', path: '/metadata/annotations', value: { seen: name } }],
        });
        const report = { metadata: { name: `${cluster.profile.metadata.name}-report` }, data: { of: name } };
        await hub.resource<Wire<V1ConfigMap>>(configMaps).apply(report, { force: true });
      } catch (error) {
        failures.push(error);
        throw error;
      } finally {
        reconciles += 1;
      }
    },
  });
  return () => reconciles;
}

test('a preview stores nothing on any server, and says of each object what the same controller then makes of it', async (t) => {
  const { life, hub, spokes, make } = await startServers(t, ['one', 'two']);
  const admins = new Map([hub, ...spokes].map((plane) => [plane.name, adminOf(life, plane)]));
  const configOf = (name: string) => admins.get(name) ?? assert.fail(name);
  for (const { name } of spokes) {
    const maps = configOf(name).resource<Wire<V1ConfigMap>>(configMaps);
    await maps.create({ metadata: { name: 'web', labels: { app: 'template' } } });
    await maps.create({ metadata: { name: 'web-old' } });
    await maps.create({ metadata: { name: 'web-copy' }, data: { of: 'nobody' } });
    // The service account's controller does not run here.
    const accounts = configOf(name).resource({ ...configMaps, kind: 'ServiceAccount' });
    if (!(await accounts.find('default'))) await accounts.create({ metadata: { name: 'default' } });
  }
  const countAll = async () =>
    Object.fromEntries(
      await Promise.all([...admins].map(async ([name, config]) => [name, await storedWrites(config)])),
    );
  const before = await countAll();
  const failures: unknown[] = [];
  const preview = make({ preview: true, sharding: { namespace: 'default', name: 'fleet', identity: 'preview' } });
  const previewed = addController(preview, failures);
  const running = preview.run();
  await until(t, () => previewed() >= 2);
  const [{ config } = assert.fail()] = preview.clusters();
  const token = '/api/v1/namespaces/default/serviceaccounts/default/token';
  await assert.rejects(config.fetch(token, { method: 'POST', body: '{}' }), { code: 'PREVIEW_REFUSED' });
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: {} },
  };
  const asked = await config.fetch('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(review),
  });
  assert.equal(asked.status, 201);
  await preview.close();
  await running;
  assert.deepEqual(failures, []);
  assert.deepEqual(await countAll(), before, 'no server has stored a write');
  const leases = await configOf('hub').resource({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }).list();
  assert.deepEqual(
    leases.items.filter(({ metadata }) => metadata.name.startsWith('fleet-')),
    [],
  );
  const summary = preview.preview?.summary() ?? [];
  assert.doesNotMatch(JSON.stringify(summary), /hunter2|aHVudGVyMg/);

  // The objects of each write, before and after a real run.
  const stateOf = async () =>
    new Map(
      await Promise.all(
        summary.map(async (write) => {
          const server = write.cluster.startsWith('default/') ? write.cluster.slice('default/'.length) : 'hub';
          const response = await configOf(server).fetch(write.path);
          const found: unknown = response.ok ? await response.json() : undefined;
          const items = Object(found).items as readonly object[] | undefined; // a list where the server makes up the name
          return [write, items ? items.at(-1) : (found as object | undefined)] as const;
        }),
      ),
    );
  const earlier = await stateOf();
  const real = make();
  const done = addController(real, failures);
  void real.run();
  await until(t, async () => {
    if (done() < 4) return false;
    const reports = await configOf('hub').resource(configMaps).list();
    return reports.items.filter(({ metadata }) => metadata.name.endsWith('-report')).length === 2;
  });
  await real.close();
  const later = await stateOf();
  assert.equal(summary.length, 10);
  for (const write of summary) {
    const [one, other] = [earlier.get(write), later.get(write)];
    if (write.verb === 'delete') {
      assert.ok(one && !other, write.path);
      continue;
    }
    assert.ok(other, write.path);
    const { name = '', generateName } = Object(other).metadata;
    const text = JSON.stringify(
      changesBetween(write.verb === 'create' ? undefined : one, { ...other, kind: write.kind }),
    );
    const withoutName = generateName === undefined ? text : text.replaceAll(name, `${generateName}*`);
    assert.deepEqual(JSON.parse(withoutName), write.changes, write.path);
  }
  const secrets = await configOf('one')
    .resource({ ...configMaps, kind: 'Secret' })
    .list();
  assert.equal(secrets.items.length, 1, 'one child');
});

test('clusters are a source of controllers: a server that stops, comes back and goes is told once, by the replica that has it', async (t) => {
  const { hub, spokes, make } = await startServers(t, ['one', 'two', 'three']);
  const graceMs = 30_000;
  const told: string[] = [];
  const start = (identity: string) => {
    const fleet = make({ sharding: { namespace: 'default', name: 'fleet', identity } });
    fleet.controller({
      name: 'clusters',
      for: { apiVersion: `${profiles.group}/${profiles.version}`, kind: 'ClusterProfile', on: 'hub' },
      watches: [
        {
          on: 'fleet',
          graceMs,
          map: ({ profile: { metadata } }: ClusterChange) => [{ name: metadata.name, namespace: metadata.namespace }],
        },
      ],
      reconcile: (_request, { triggers }) => {
        for (const { source, cluster, event } of triggers) if (source === 'watches') told.push(`${event} ${cluster}`);
      },
    });
    return { fleet, running: fleet.run() };
  };
  const replicas = ['a', 'b', 'c'].map(start);
  const names = spokes.map(({ name }) => `default/${name}`);
  const wasTold = (line: string) => told.filter((one) => one === line).length;
  await until(t, () => names.every((name) => wasTold(`Engaged ${name}`) > 0));
  const engaged = () => replicas.flatMap(({ fleet }) => fleet.clusters().map(({ name }) => name)).toSorted();
  await until(t, () => engaged().join() === names.toSorted().join());

  const [one, two] = spokes;
  assert.ok(one && two);
  told.length = 0;
  // An outage that is shorter than the grace: the server starts again.
  await two.restart();
  const go = one.pause();
  await until(t, () => wasTold(`Unreachable default/${one.name}`) === 1);
  await hub.restart();
  go();
  await until(t, () => wasTold(`Reachable default/${one.name}`) === 1);
  assert.equal(wasTold(`Unreachable default/${two.name}`), 0);

  // The next owner tells what is the case, and nothing is told of what has not changed.
  const [first] = replicas;
  assert.ok(first);
  const moved = first.fleet.clusters().map(({ name }) => name);
  told.length = 0;
  await first.fleet.close();
  await until(t, () => moved.every((name) => wasTold(`Engaged ${name}`) > 0));
  assert.equal(told.filter((line) => line.startsWith('Gone')).length, 0);

  // A profile that is deleted while its cluster cannot be engaged.
  await one.close();
  await until(t, () => wasTold(`Unreachable default/${one.name}`) > 0);
  await withdraw(hub, one.name);
  await until(t, () => wasTold(`Gone default/${one.name}`) === 1);
  await Promise.all(replicas.map(({ fleet }) => fleet.close()));
  assert.equal(wasTold(`Gone default/${one.name}`), 1);
});
