import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Changes } from '../../src/util/abortable.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a wait for changes', () => {
  test('looks once at all changes of a turn, and listens to its signal once, however many come', async () => {
    const changes = new Changes();
    let looks = 0;
    let listeners = 0;
    let isOver = false;
    const { signal } = new AbortController();
    const { addEventListener } = signal;
    signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, given);
    };
    const holds = () => {
      looks += 1;
      return isOver;
    };
    const wait = changes.until(holds, signal);
    for (let turns = 1; turns <= 100; turns++) {
      for (let told = 0; told < 1_000; told++) changes.tell();
      await turn();
      assert.equal(looks, 1 + turns);
    }
    isOver = true;
    changes.tell();
    await wait;
    assert.equal(listeners, 1);
  });

  test('sees a change that comes while it is told of another, and ends with its signal', async () => {
    const changes = new Changes();
    let value = 0;
    const first = changes.until(() => value === 1).then(() => (value = 2));
    const second = changes.until(() => value === 2);
    value = 1;
    changes.tell();
    await first;
    changes.tell();
    await second;
    const stop = new AbortController();
    const third = changes.until(() => false, stop.signal);
    stop.abort(new Error('it is over'));
    await assert.rejects(third, /it is over/);
  });
});
