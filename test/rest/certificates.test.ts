import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { fetch, request } from 'undici';
import { startCertified } from '../fixtures/certified.ts';
import { newNamespace } from '../fixtures/fleet.ts';
import { until } from '../fixtures/until.ts';

describe('a client certificate', () => {
  for (const http2 of [true, false]) {
    test(`authenticates over ${http2 ? 'HTTP/2' : 'HTTP/1.1'}, and a new one is used at once`, async (t) => {
      const { cluster, core, rotate } = await startCertified(t, { http2 });
      await core.listNamespace();
      await rotate('second');
      await core.listNamespace();
      assert.deepEqual(Object.fromEntries(cluster.stats.byIdentity), { first: 1, second: 1 });
      await until(t, () => cluster.stats.openConnections <= 1);
    });
  }

  for (const path of [
    ['token', 'first', 'token'],
    ['first', 'second', 'token', 'third', 'token', 'first'],
    ['first', 'token', 'first', 'token'],
  ]) {
    test(`(${path.join(' to ')}) leaves streams on what came before drainTimeoutMs, and those on a token for good`, async (t) => {
      const { cluster, config, plugin, issue } = await startCertified(t, { drainTimeoutMs: 200 });
      const ends: Promise<string>[] = [];
      for (const name of path) {
        await plugin.answer(name === 'token' ? { token: 'own' } : issue(name));
        config.invalidate();
        const url = `${cluster.url}/api/v1/namespaces?watch=true&resourceVersion=0`;
        const { body } = await request(url, { dispatcher: config.dispatcher });
        let text = '';
        const read = async () => {
          for await (const chunk of body) {
            text += chunk;
            if (text.includes('still-there')) return 'goes on';
          }
          return 'ended';
        };
        ends.push(read().catch((error: unknown) => String(Reflect.get(Object(error), 'code'))));
      }
      // A request with a credential of its own replaces nothing.
      const headers = { authorization: 'Bearer own' };
      await (await fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher, headers })).text();
      const expected = path.map((name, index) =>
        name === 'token' || index === path.length - 1 ? 'goes on' : 'CONFIG_CLOSED',
      );
      const ended = ends.filter((_, index) => expected[index] === 'CONFIG_CLOSED');
      assert.deepEqual(new Set(await Promise.all(ended)), new Set(['CONFIG_CLOSED']));
      cluster.add(newNamespace('still-there'));
      assert.deepEqual(await Promise.all(ends), expected);
    });
  }

  test('may come with a token: both are sent', async (t) => {
    const { cluster, core } = await startCertified(t, { token: 'beside' });
    const seen: unknown[] = [];
    cluster.onRequest = ({ headers, identity }) => seen.push([headers.authorization, identity]);
    await core.listNamespace();
    assert.deepEqual(seen, [['Bearer beside', 'first']]);
  });

  test('is left out where the request brings an Authorization of its own: a server would believe the certificate', async (t) => {
    const { cluster, config, core } = await startCertified(t);
    await core.listNamespace();
    const headers = { authorization: 'Bearer own' };
    assert.equal((await fetch(`${cluster.url}/version`, { dispatcher: config.dispatcher, headers })).status, 200);
    assert.equal(cluster.stats.byIdentity.get('by-own-token'), 1);
  });
});

test('a rotation lets streams on the old certificate go on, and closes its connection when they have ended', async (t) => {
  const { cluster, config, core, rotate } = await startCertified(t);
  const { body } = await request(`${cluster.url}/api/v1/namespaces?watch=true`, { dispatcher: config.dispatcher });
  await once(body, 'readable');
  await rotate('second');
  await core.listNamespace();
  assert.equal(cluster.stats.openConnections, 2);
  cluster.add(newNamespace('after-rotation'));
  for await (const chunk of body) if (String(chunk).includes('after-rotation')) break;
  await until(t, () => cluster.stats.openConnections <= 1);
  assert.equal(cluster.stats.byIdentity.get('second'), 1);
});
