// client-go's exec authenticator, item by item (see input.test.ts). H to J: the cache, requests and their 401s, TLS.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createCertificateAuthority } from '../../src/testing/index.ts';
import { setUp, v1 } from '../fixtures/client-go.ts';
import { print } from '../fixtures/script.ts';

describe('H. Cache and expiry', () => {
  const now = Date.UTC(2030, 0);
  const at = (ms: number) => new Date(now + ms).toISOString();

  test('H.74: at its very expiry a credential is still good, a millisecond later it is not', async (t) => {
    const clock = { now };
    const code = print({ token: 'token-1', expirationTimestamp: at(60_000) });
    const { plugin, core } = await setUp(t, { code, options: { clock: () => clock.now } });
    await core.listNamespace();
    clock.now += 60_001;
    await core.listNamespace();
    assert.equal(await plugin.runs(), 2);
  });

  test('H.75: one that came expired is used, and held back like a failure (differs: a run for each request there)', async (t) => {
    const { plugin, core } = await setUp(t, {
      code: print({ token: 'token-1', expirationTimestamp: at(-600_000_000_000) }),
      options: { clock: () => now },
    });
    for (let i = 0; i < 5; i++) await core.listNamespace();
    assert.equal(await plugin.runs(), 1);
  });

  test('H.77: an answer without expiry clears an earlier one', async (t) => {
    const clock = { now };
    const first = print({ token: 'token-1', expirationTimestamp: at(60_000) });
    const code = `if [ "$(wc -l < "$DIR/runs")" = 1 ]; then\n${first}\nelse\n${print({ token: 'token-1' })}\nfi`;
    const { plugin, core } = await setUp(t, { code, options: { clock: () => clock.now } });
    for (let i = 0; i < 5; i++) {
      await core.listNamespace();
      clock.now += 600_000;
    }
    assert.equal(await plugin.runs(), 2);
  });

  test('H.78: concurrent requests cause one run', async (t) => {
    const { plugin, core } = await setUp(t);
    await Promise.all(Array.from({ length: 20 }, () => core.listNamespace()));
    assert.equal(await plugin.runs(), 1);
  });

  test('H.79: a failing plugin is held back (differs: a run for each request there)', async (t) => {
    const { plugin, core } = await setUp(t, { code: 'exit 1' });
    for (let i = 0; i < 5; i++) await assert.rejects(core.listNamespace());
    assert.equal(await plugin.runs(), 1);
  });

  test('H.80: a pair that does not fit leaves expiry and credential as they were (differs)', async (t) => {
    const clock = { now };
    const pair = createCertificateAuthority().issue({ commonName: 'c', client: true });
    const other = createCertificateAuthority().issue({ commonName: 'o', client: true });
    const good = print({ token: 'token-1', expirationTimestamp: at(60_000) });
    const bad = print({ clientCertificateData: pair.certificate, clientKeyData: other.key });
    const code = `if [ "$(wc -l < "$DIR/runs")" = 1 ]; then\n${good}\nelse\n${bad}\nfi`;
    const { config, core } = await setUp(t, { code, options: { clock: () => clock.now } });
    await core.listNamespace();
    clock.now += 60_001;
    await assert.rejects(config.ready(), { code: 'ANSWER_KEY_MISMATCH' });
  });
});

describe('I. The request path and 401', () => {
  const counted = `echo x >> "$DIR/count"; n=$(wc -l < "$DIR/count")\nprintf '{"apiVersion":"${v1}","status":{"token":"token-%s"}}' $n`;

  test('I.82: a 401 makes the plugin run, and the request is replayed once (differs: handed back there)', async (t) => {
    const { server, plugin, core } = await setUp(t, { code: counted });
    await core.listNamespace();
    server.setTokens({ 'token-2': 'me' });
    await core.listNamespace();
    assert.equal(await plugin.runs(), 2);
  });

  for (const status of [400, 403, 404, 500]) {
    test(`I.82: a ${status} does nothing`, async (t) => {
      const { server, plugin, core } = await setUp(t);
      await core.listNamespace();
      server.failNext(status);
      await assert.rejects(core.listNamespace());
      assert.equal(await plugin.runs(), 1);
    });
  }

  test('I.83: ten concurrent 401s cause one run', async (t) => {
    const { server, plugin, core } = await setUp(t, { code: counted });
    await core.listNamespace();
    server.setTokens({ 'token-2': 'me' });
    await Promise.all(Array.from({ length: 10 }, () => core.listNamespace()));
    assert.equal(await plugin.runs(), 2);
  });

  test('I.84: when the refresh fails the 401 is handed over, and the old credential stays', async (t) => {
    const code = `if [ "$(wc -l < "$DIR/runs")" = 1 ]; then\n${print({ token: 'token-1' })}\nelse exit 1; fi`;
    const { server, core } = await setUp(t, { code });
    await core.listNamespace();
    server.failNext(401);
    await assert.rejects(core.listNamespace(), { code: 401 });
    await core.listNamespace();
  });
});

describe('J. TLS', () => {
  test('J.86: a credential without a certificate makes a handshake without one', async (t) => {
    const { server, core } = await setUp(t);
    await core.listNamespace();
    assert.equal(server.stats.byIdentity.get('me'), 1);
  });

  test('J.87: a new token keeps the connection, a new certificate gets one of its own, streams go on (differs)', async (t) => {
    const { server, config, core, plugin } = await setUp(t, { code: 'cat "$DIR/answer"' });
    const certificate = (commonName: string) => {
      const pair = server.certificateAuthority.issue({ commonName, client: true });
      return { clientCertificateData: pair.certificate, clientKeyData: pair.key };
    };
    const answer = (status: object) =>
      writeFile(join(plugin.folder, 'answer'), JSON.stringify({ apiVersion: v1, status }));
    server.setTokens({ a: 'a', b: 'b' });
    const connections: number[] = [];
    const same = certificate('same');
    for (const status of [{ token: 'a' }, { token: 'b' }, same, same, certificate('other'), { token: 'a' }]) {
      await answer(status);
      config.invalidate();
      await core.listNamespace();
      connections.push(server.stats.connections);
    }
    // The pool without a certificate is kept for whoever needs none.
    assert.deepEqual(connections, [1, 1, 2, 2, 3, 3]);
    assert.deepEqual([...server.stats.byIdentity.keys()], ['a', 'b', 'same', 'other']);
  });
});
