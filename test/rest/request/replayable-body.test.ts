import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { ReplayableBody } from '../../../src/rest/request/replayable-body.ts';
import { until } from '../../fixtures/until.ts';

const pieces = () => Readable.from([Buffer.from('a'), Buffer.from('b'), Buffer.from('c')], { objectMode: false });

/** Streams of different make, begun. */
const streams: Readonly<Record<string, () => Readable>> = {
  'of Node': pieces,
  // As undici's pipeline has it.
  'that fails where it is destroyed before its end': () => {
    const stream = pieces();
    stream._destroy = (error, done) => done(error ?? new Error('it was not read to its end'));
    return stream;
  },
};

describe('a body whose reader leaves it in the middle, as undici does where its connection is lost', () => {
  for (const [name, make] of Object.entries(streams)) {
    test(`is closed, and is not what its request fails with (a stream ${name})`, async (t) => {
      const stream = make();
      const aborted: Error[] = [];
      const body = new ReplayableBody(stream, { abort: (reason) => aborted.push(reason) });
      const sent = body.next();
      assert.ok(sent !== null && typeof sent === 'object' && Symbol.asyncIterator in sent);
      for await (const _ of sent) break;
      await until(t, () => stream.closed);
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(aborted, []);
    });
  }
});
