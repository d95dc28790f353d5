import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { request } from 'undici';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

describe('one HTTP/2 connection for many', () => {
  test('carries 100 streams; 1,000 watches need a dozen connections, or two where a dial takes over a second', async (t) => {
    const { cluster, config } = await startFleet(t);
    await config.ready();
    const url = `${cluster.url}/api/v1/namespaces?watch=true`;
    const watches = await Promise.all(
      Array.from({ length: 1_000 }, () => request(url, { dispatcher: config.dispatcher })),
    );
    assert.ok(watches.every(({ statusCode }) => statusCode === 200));
    // A dial that is older than a second does not count for later requests: beside other work there is a second one for them.
    assert.ok(cluster.stats.connections <= 24, `${cluster.stats.connections} connections`);
    for (const { body } of watches) body.on('error', () => {}).destroy();
  });

  test('keeps the streams under way through one GOAWAY after the other, and loses no request beside them', async (t) => {
    const { cluster, config } = await startFleet(t);
    const core = config.makeApiClient(CoreV1Api);
    const url = `${cluster.url}/api/v1/namespaces?watch=true`;
    const seen: string[] = [];
    const watches: { readonly body: NodeJS.ReadableStream & { destroy(): void } }[] = [];
    for (let round = 0; round < 20; round++) {
      const watch = await request(url, { dispatcher: config.dispatcher });
      watches.push(watch);
      watch.body.on('data', (chunk: Buffer) => seen.push(`${round} ${String(chunk).includes('later')}`));
      watch.body.on('error', (error) => seen.push(`${round} ${error.message}`));
      const requests = Array.from({ length: 20 }, () => core.listNamespace());
      cluster.goAway();
      await Promise.all(requests);
    }
    cluster.add(newNamespace('later'));
    const alive = Array.from({ length: 20 }, (_, round) => `${round} true`);
    await until(t, () => {
      const broken = seen.filter((line) => !/true|false/.test(line));
      assert.deepEqual(broken, []);
      return alive.every((line) => seen.includes(line));
    });
    for (const { body } of watches) body.destroy();
    // One for everything, and one for short requests.
    await until(t, () => cluster.stats.openConnections <= 2);
  });
});
