// One spoke's API server must not hold up the process that serves all clusters, whatever it sends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Lines, linesOf } from '../../../src/fleet/reflect/batches.ts';
import { readWatchEvent } from '../../../src/fleet/reflect/events.ts';
import { lastBookmark } from '../../fixtures/config-map-server.ts';
import { startReflector, startWatching } from '../../fixtures/reflected.ts';

const MiB = 1024 * 1024;
const reading = { apiVersion: 'v1', kind: 'ConfigMap' };
const event = (spec: string) => `{"type":"ADDED","object":{"metadata":{"name":"x"},"spec":${spec}}}`;
const text = (size: number) => JSON.stringify('x'.repeat(size));
/** A body in chunks as they come, read as a watch. */
const read = (body: string) => {
  const [lines, size] = [new Lines(), 65_536];
  const bytes = Buffer.from(body);
  const events: unknown[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const line of linesOf(lines.push([bytes.subarray(at, at + size)]))) events.push(readWatchEvent(line, reading));
  }
  return events.length;
};

describe('an object of a watch', () => {
  test('may be as large as etcd stores it, many values and quotes in it, too', () => {
    const entries = Array.from({ length: 60_000 }, (_, index) => [`key-${index}`, 'value "\\\\']);
    const large = JSON.stringify(Object.fromEntries(entries));
    assert.ok(large.length > 1.5 * MiB);
    assert.equal(read(`${event(large)}\n${event(text(3 * MiB))}\n${event('1')}\n`), 3);
  });

  for (const streamingList of [true, false]) {
    test(`may be the longest text that etcd takes, each character escaped, ${streamingList ? 'in a streaming list' : 'in a page'}`, async (t) => {
      const { server, take } = await startReflector(t);
      server.streamingList = streamingList;
      const object = `{"metadata":{"name":"x","resourceVersion":"1"},"data":{"x":"${'\\u003c'.repeat(1.5 * MiB)}"}}`;
      server.misbehave = ({ path, query }, response) => {
        if (!path.endsWith('/configmaps')) return false;
        if (!query.has('watch')) response.end(`{"metadata":{"resourceVersion":"1"},"items":[${object}]}`);
        else if (!query.has('sendInitialEvents') || !streamingList) return false;
        else response.write(`{"type":"ADDED","object":${object}}\n${lastBookmark('1')}`);
        return true;
      };
      assert.deepEqual(await take(3), ['Init', 'InitApply x', 'InitDone']);
    });
  }

  test('is a problem of its cluster if it is too large: the watch is listed again, and the log says why', async (t) => {
    const { server, warnings, reasons, clock, change: again } = await startWatching(t);
    server.write(`${event(text(11 * MiB))}\n`);
    clock.advance(await clock.waiting((ms) => ms >= 800 && ms < 30_000));
    assert.equal(await again, 'Init');
    assert.deepEqual(reasons(), ['malformed']);
    assert.match(warnings.join(), /one of its objects is larger than 10 MiB, which no API server stores/);
  });
});
