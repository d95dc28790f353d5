// A first list without progress, or without an end, is a problem of its cluster, and of no other.
import assert from 'node:assert/strict';
import type { Http2ServerResponse } from 'node:http2';
import { describe, type TestContext, test } from 'node:test';
import { Registry } from 'prom-client';
import { FleetMetrics, type FleetOptions } from '../../src/fleet/index.ts';
import { ConfigMapServer, lastBookmark, line } from '../fixtures/config-map-server.ts';
import { ofKind } from '../fixtures/controllers.ts';
import { startHub, stateOf } from '../fixtures/fleet-hub.ts';
import { ManualClock } from '../fixtures/manual-clock.ts';
import { turns, until } from '../fixtures/until.ts';

const configMap = (name: string, data: object = {}) => {
  const metadata = { namespace: 'default', uid: `uid-${name}`, resourceVersion: '101' };
  return { ...ofKind('ConfigMap', name, metadata), data };
};

/** A fleet of a healthy cluster and one whose lists `answer` sends, and the names that a controller has reconciled. */
async function startFleet(
  t: TestContext,
  answer: (query: URLSearchParams, response: Http2ServerResponse) => boolean,
  options: Partial<FleetOptions> = {},
  limits: { readonly maxObjects?: number; readonly maxBytes?: number } = {},
) {
  const { publish, spoke, fleet: make, warnings } = await startHub(t);
  const healthy = await spoke();
  healthy.add([configMap('good')]);
  const bad = await ConfigMapServer.start(t);
  bad.misbehave = ({ path, query }, response) => {
    if (path === '/version') {
      response.end('{}');
      return true;
    }
    return path.endsWith('/configmaps') && !query.has('resourceVersion') && answer(query, response);
  };
  publish('healthy', healthy);
  publish('bad', bad);
  const registry = new Registry();
  const fleet = make({ metrics: new FleetMetrics({ registry }), ...options });
  const reconciled: string[] = [];
  fleet.controller({
    name: 'maps',
    for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', ...limits },
    reconcile: ({ name }) => void reconciled.push(name),
  });
  fleet.run();
  const failing = async () => /^clusterprofile_fleet_clusters_watch_failing (\d)$/m.exec(await registry.metrics())?.[1];
  const messageOf = (name: string) => fleet.list().find((cluster) => cluster.name === `fleet/${name}`)?.message ?? '';
  return { fleet, reconciled, warnings, healthy, bad, registry, failing, messageOf };
}

test('a first list that brings a few bytes now and then is reported after a minute, holds up no other cluster, and its controllers begin at its end', async (t) => {
  let waits = 0;
  const clock = new (class extends ManualClock {
    override after(ms: number, run: () => void): () => void {
      if (ms === 30_000) waits += 1;
      return super.after(ms, run);
    }
  })();
  let slow: Http2ServerResponse | undefined;
  const { fleet, reconciled, warnings, failing, messageOf } = await startFleet(
    t,
    (query, response) => {
      if (slow || !query.has('sendInitialEvents')) return false;
      slow = response;
      response.writeHead(200);
      response.write('\n');
      return true;
    },
    { clock },
  );
  let isSynced = false;
  const synced = fleet.synced().then(() => (isSynced = true));
  const text = line('ADDED', configMap('late'));
  await until(t, () => reconciled.includes('good') && waits > 0);
  for (const byte of text.slice(0, 3)) {
    assert.equal(stateOf(fleet, 'bad'), 'Engaged ENGAGED');
    clock.advance(19_000);
    const before = waits;
    slow?.write(byte);
    await until(t, () => waits > before);
  }
  assert.equal(await failing(), '0');
  await turns();
  assert.equal(isSynced, false);
  clock.advance(3_000);
  await synced;
  assert.equal(stateOf(fleet, 'bad'), 'Engaged WATCH_FAILING');
  assert.match(messageOf('bad'), /^ConfigMap \(v1\): timeout: the watch of ConfigMap .* after 60 s, and goes on/);
  assert.equal(warnings.filter((message) => /has not listed everything after 60 s/.test(message)).length, 1);
  assert.equal(await failing(), '1');
  assert.deepEqual(reconciled, ['good']);
  slow?.write(text.slice(3) + lastBookmark('101'));
  await until(t, () => reconciled.includes('late') && stateOf(fleet, 'bad') === 'Engaged ENGAGED');
  assert.equal(await failing(), '0');
});

// Each waits a second for the next list: side by side.
describe('a list without an end', { concurrency: true }, () => {
  const endless = {
    'a streaming list': (query: URLSearchParams, response: Http2ServerResponse) => {
      if (!query.has('watch')) return false;
      response.writeHead(200);
      let sent = 0;
      const send = () => {
        while (!response.destroyed && !response.stream.destroyed) {
          sent += 1;
          if (!response.write(line('ADDED', configMap(`m-${sent}`, { x: 'x'.repeat(1_000) })))) break;
        }
      };
      response.on('drain', send);
      send();
      return true;
    },
    'a list in pages': (query: URLSearchParams, response: Http2ServerResponse) => {
      if (query.has('watch')) {
        response.writeHead(400).end();
        return true;
      }
      const from = Number(query.get('continue'));
      const items = Array.from({ length: Number(query.get('limit')) }, (_, i) =>
        configMap(`m-${from + i}`, { x: 'x'.repeat(1_000) }),
      );
      const metadata = { resourceVersion: '101', continue: String(from + items.length) };
      response.end(JSON.stringify({ metadata, items }));
      return true;
    },
  };
  for (const [kind, limit, said] of [
    ['a streaming list', { maxObjects: 2_000 }, 'maxObjects is 2000'],
    ['a list in pages', { maxBytes: 2_000_000 }, 'maxBytes is 2000000'],
  ] as const) {
    test(`that is ${kind} is given up where ${said}, and asked for again; the other clusters go on`, async (t) => {
      let isEndless = true;
      const { fleet, reconciled, healthy, bad, messageOf, registry } = await startFleet(
        t,
        (query, response) => isEndless && endless[kind](query, response),
        {},
        limit,
      );
      await fleet.synced();
      await until(t, () => messageOf('bad').includes('too_large'));
      assert.equal(stateOf(fleet, 'bad'), 'Engaged WATCH_FAILING');
      const ended = new RegExp(`has not ended after \\d+ objects, \\d MB, and ${said}: ask for fewer with namespace`);
      assert.match(messageOf('bad'), ended);
      assert.match(await registry.metrics(), /fleet_reflector_restarts_total\{reason="too_large"\} \d/);
      const [maps] = fleet.get('fleet/bad').informers;
      assert.deepEqual(maps?.list(), []);
      healthy.set(configMap('another'));
      await until(t, () => reconciled.includes('another'));
      assert.ok(!reconciled.some((name) => name.startsWith('m-')));
      isEndless = false;
      bad.apply(configMap('small'));
      await until(t, () => reconciled.includes('small'));
    });
  }
});
