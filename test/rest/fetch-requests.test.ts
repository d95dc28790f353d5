import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as undici from 'undici';
import { startFleet } from '../fixtures/fleet.ts';

describe('config.fetch', () => {
  test('answers no URL by itself that is none of the server', async (t) => {
    const { config } = await startFleet(t);
    const blob = URL.createObjectURL(new Blob(['hello']));
    t.after(() => URL.revokeObjectURL(blob));
    for (const target of ['data:text/plain,hello', blob, 'about:blank', 'file:///etc/passwd', new Request(blob)]) {
      await assert.rejects(config.fetch(target), { code: 'FOREIGN_ORIGIN', profile: 'fleet/spoke' }, String(target));
    }
  });

  const table: readonly (readonly [init: RequestInit, status: number | undefined])[] = [
    [{}, 200],
    [{ redirect: 'error' }, undefined],
    [{ redirect: 'manual' }, 307],
    [{ redirect: 'follow' }, 404],
    [{ keepalive: true, method: 'PUT', body: '{}' }, 405],
  ];
  for (const [init, status] of table) {
    test(`sends a Request of Node with ${JSON.stringify(init)} as the fetch of undici sends the same options`, async (t) => {
      const { cluster, config } = await startFleet(t);
      const url = `${cluster.url}/version`;
      const outcomes: unknown[] = [];
      let seen: object = {};
      cluster.onRequest = ({ method, headers }) => {
        // Undici streams the body of a Request.
        const { 'content-length': _length, 'transfer-encoding': _encoding, ...others } = headers;
        seen = { method, others };
      };
      for (const send of [
        () => config.fetch(new Request(url, init)),
        () => config.fetch('/version', new Request(url, init)),
        () => undici.fetch(url, { ...(init as object), dispatcher: config.dispatcher }),
      ]) {
        if (init.redirect) cluster.failNext({ redirect: '/elsewhere' });
        const answer = await send().catch(() => undefined);
        assert.equal(answer?.status, status);
        outcomes.push({ redirected: answer?.redirected, type: answer?.type, seen });
      }
      assert.deepEqual(outcomes[0], outcomes[2]);
      assert.deepEqual(outcomes[1], outcomes[2]);
    });
  }
});
