import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from 'undici';
import { newNamespace, startFleet } from '../fixtures/fleet.ts';

test('a stream keeps its backpressure', async (t) => {
  const { cluster, config } = await startFleet(t);
  const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
  // Nobody reads: what the server sends stays in buffers, and then with the server.
  for (let i = 0; i < 20_000; i++) cluster.set(newNamespace('default', { padding: 'x'.repeat(200) }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(body.readableLength < 2 * 1024 * 1024, `${body.readableLength} bytes are in memory`);
  let events = 0;
  for await (const chunk of body) {
    events += String(chunk).split('\n').length - 1;
    if (events >= 20_002) break;
  }
  assert.equal(events, 20_002);
});
