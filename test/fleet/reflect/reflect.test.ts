import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ReflectOptions, reflect } from '../../../src/fleet/reflect/reflect.ts';
import { refuse } from '../../fixtures/config-map-server.ts';
import { ManualClock } from '../../fixtures/manual-clock.ts';
import { after, configMaps, map, startConfigMaps, startReflector } from '../../fixtures/reflected.ts';
import { until } from '../../fixtures/until.ts';

for (const streamingList of [true, false]) {
  describe(`a reflector, ${streamingList ? 'with a streaming list' : 'with pages'},`, () => {
    test('gives out what is there, and then what changes', async (t) => {
      const { server, watching, take, next } = await startReflector(t);
      server.streamingList = streamingList;
      server.apply(map('a'));
      server.apply(map('b'));
      assert.deepEqual(await take(4), ['Init', 'InitApply a', 'InitApply b', 'InitDone']);
      const change = next();
      await watching();
      server.apply(map('c'));
      assert.equal(await change, 'Apply c');
      server.apply(map('a', { data: { x: '1' } }));
      server.delete('b');
      assert.deepEqual(await take(2), ['Apply a', 'Delete b']);
    });

    test('goes on from the last version when a watch ends or breaks, without a new list', async (t) => {
      const { server, watching, take, next, clock } = await startReflector(t);
      server.streamingList = streamingList;
      assert.deepEqual(await take(2), ['Init', 'InitDone']);
      const first = next();
      await watching();
      server.apply(map('a'));
      assert.equal(await first, 'Apply a');
      clock.advance(20_000);
      const asked = server.requests.length;
      server.endWatches();
      const second = next();
      await server.seen(({ query }) => query.get('resourceVersion') === '101', asked);
      server.apply(map('b'));
      assert.equal(await second, 'Apply b');
      server.breakConnections();
      server.apply(map('c'));
      assert.equal(await after(clock, next()), 'Apply c');
    });

    test('lists again, at once, when its version has expired', async (t) => {
      const { server, watching, take, next, clock, restarts, warnings } = await startReflector(t);
      server.streamingList = streamingList;
      server.apply(map('a'));
      server.apply(map('b'));
      await take(4);
      const change = next();
      await watching();
      clock.advance(20_000);
      server.endWatches();
      server.delete('a');
      server.compact();
      assert.equal(await change, 'Init');
      assert.deepEqual(await take(2), ['InitApply b', 'InitDone']);
      const [{ reason, afterMs } = assert.fail(), ...others] = restarts;
      assert.deepEqual([reason, afterMs, others], ['expired', 0, []]);
      assert.deepEqual(warnings, []);
    });

    test('lists again within a second when its version has expired while the server was away', async (t) => {
      const { server, take, next, watching, clock, restarts } = await startReflector(t);
      server.streamingList = streamingList;
      server.apply(map('a'));
      await take(3);
      const change = next();
      await watching();
      clock.advance(20_000);
      server.misbehave = (_request, response) => {
        response.stream.close();
        return true;
      };
      server.endWatches();
      while (restarts.length < 6) {
        const { length } = restarts;
        await clock.waiting((ms) => ms > 500);
        clock.advance(30_000);
        await until(t, () => restarts.length > length);
      }
      server.delete('a');
      server.compact();
      server.misbehave = () => false;
      await clock.waiting((ms) => ms > 5_000);
      clock.advance(30_000);
      await until(t, () => restarts.length === 7);
      const { reason, afterMs } = restarts[6] ?? {};
      assert.ok(reason === 'expired' && afterMs !== undefined && afterMs <= 1_000, `${reason}, ${afterMs} ms`);
      clock.advance(1_000);
      assert.equal(await change, 'Init');
      assert.equal(await next(), 'InitDone');
    });

    test('waits out whatever a server answers, and tells it once', async (t) => {
      const { server, take, clock, restarts, reasons, warnings } = await startReflector(t);
      server.streamingList = streamingList;
      const expected = ['401 unauthorized', '403 forbidden', '404 not_found', '500 server_error', '503 server_error'];
      expected.push('504 server_error', '418 other');
      const statuses = expected.map((line) => Number.parseInt(line, 10));
      server.misbehave = ({ path }, response) => {
        if (!path.endsWith('/configmaps')) return false;
        // The credential is refreshed and the request sent again after the first 401.
        const status = restarts.length < statuses.length ? statuses[restarts.length] : undefined;
        if (status === undefined) return false;
        refuse(response, status, 'Injected', `answer ${status}`);
        return true;
      };
      const events = take(2);
      for (let i = 0; i < statuses.length; i++)
        clock.advance(await clock.waiting((ms) => ms >= 800 && ms <= 30_000 && restarts.length === i + 1));
      assert.deepEqual(await events, ['Init', 'InitDone']);
      const told = reasons().map((reason, index) => `${statuses[index]} ${reason}`);
      assert.deepEqual(told, expected);
      for (const [index, { afterMs }] of restarts.entries()) {
        const least = Math.min(15_000, 800 * 2 ** index);
        assert.ok(afterMs >= least && afterMs <= 2 * least, `${afterMs} ms after failure ${index + 1}`);
      }
      assert.equal(warnings.length, new Set(reasons()).size);
      const said =
        /^the watch of ConfigMap \(v1\) goes on in [\d.]+ s \(forbidden\): .*\/configmaps: status 403: answer 403$/;
      assert.match(warnings[1] ?? '', said);
    });

    test('waits as long as Retry-After says', async (t) => {
      const { server, take, clock } = await startReflector(t);
      server.streamingList = streamingList;
      const slowDown = { 'retry-after': '7' };
      server.answerOnce(
        ({ path }) => path.endsWith('/configmaps'),
        (response) => refuse(response, 429, 'TooManyRequests', 'slow down', slowDown),
      );
      const events = take(2);
      assert.equal(await clock.waiting((ms) => ms < 30_000), 7_000);
      clock.advance(7_000);
      assert.deepEqual(await events, ['Init', 'InitDone']);
    });
  });
}

describe('a reflector', () => {
  test('asks for a namespace and selectors, whatever becomes of its options afterwards', async (t) => {
    const { config, server } = await startConfigMaps(t);
    const selectors = { labelSelector: 'a=b', fieldSelector: 'metadata.name=x' };
    const options = { ...configMaps, namespace: 'one', ...selectors, clock: new ManualClock() };
    server.apply({ metadata: { name: 'x', namespace: 'one' } });
    server.apply({ metadata: { name: 'x', namespace: 'two' } });
    const events = reflect(config, options);
    t.after(() => events.return());
    Object.assign(options, { kind: 'Secret', namespace: 'two', labelSelector: 'x', fieldSelector: 'y' });
    const types: (string | undefined)[] = [];
    while (types.at(-1) !== 'InitDone') types.push((await events.next()).value?.type);
    assert.deepEqual(types, ['Init', 'InitApply', 'InitDone']);
    const { path, query } = server.requests.at(-1) ?? {};
    assert.equal(path, '/api/v1/namespaces/one/configmaps');
    assert.equal(query?.get('labelSelector'), 'a=b');
    assert.equal(query?.get('fieldSelector'), 'metadata.name=x');
  });

  test('of a kind that the server has not says so, and goes on when it appears', async (t) => {
    const { server, take, clock, warnings } = await startReflector(t);
    let missing = true;
    server.misbehave = ({ path }, response) => {
      if (!missing || path !== '/api/v1') return false;
      response.end('{"resources":[]}');
      return true;
    };
    const events = take(2);
    const ms = await clock.waiting((wait) => wait >= 800 && wait < 30_000);
    assert.match(warnings[0] ?? '', /\(not_found\): the server does not serve ConfigMap \(v1\): apply its CRD$/);
    missing = false;
    clock.advance(ms);
    assert.deepEqual(await events, ['Init', 'InitDone']);
  });

  test('ends when it is aborted, while it waits for a server, an event or its next try', async (t) => {
    const moments: readonly ((reflector: Awaited<ReturnType<typeof startReflector>>) => Promise<unknown>)[] = [
      async ({ server }) => {
        server.misbehave = () => true;
        return server.seen(() => true);
      },
      async ({ watching }) => watching(),
      async ({ server, clock }) => {
        server.misbehave = (_request, response) => {
          refuse(response, 500, 'x', 'x');
          return true;
        };
        return clock.waiting((ms) => ms >= 800 && ms < 30_000);
      },
    ];
    for (const moment of moments) {
      const reflector = await startReflector(t);
      const end = (async () => {
        let event = await reflector.next();
        while (event !== 'end') event = await reflector.next();
      })();
      await moment(reflector);
      reflector.stop();
      await end;
      assert.deepEqual(reflector.clock.waits, []);
    }
  });

  test('with options that are none is refused, with all that is wrong', async (t) => {
    const wrong = { apiVersion: undefined, kind: '', onRestart: 5, signal: {}, nameSpace: 'default' };
    await assert.rejects(
      startReflector(t, wrong as unknown as Partial<ReflectOptions>),
      /apiVersion: must be v1[\s\S]*kind: must be a kind[\s\S]*signal: must be an AbortSignal[\s\S]*onRestart: must be a function[\s\S]*nameSpace: is not an option \(did you mean namespace\?\)/,
    );
  });

  test('ends when its loop is left', async (t) => {
    const { server, events, clock } = await startReflector(t);
    for await (const event of events) if (event.type === 'InitDone') break;
    await until(t, () => server.watches === 0);
    assert.deepEqual(clock.waits, []);
  });
});
