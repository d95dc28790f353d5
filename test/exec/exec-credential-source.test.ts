import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { PluginError } from '../../src/errors/index.ts';
import { published } from '../fixtures/channel.ts';
import { inMinutes, minutes, start, startSource } from '../fixtures/exec-credential-source.ts';
import { rejection } from '../fixtures/thrown.ts';
import { until } from '../fixtures/until.ts';

describe('one run for many', () => {
  test('a hundred concurrent requests share one run, and later ones its result, at once', async (t) => {
    const { plugin, source, token } = await startSource(t, { token: 'a' });
    const tokens = await Promise.all(Array.from({ length: 100 }, token));
    assert.deepEqual(new Set(tokens), new Set(['Bearer a']));
    assert.ok(!(source.get() instanceof Promise));
    assert.equal(await plugin.runs(), 1);
  });

  test('all who wait for a run fail with it, and are told at once for how long the next run is held back', async (t) => {
    const { plugin, token } = await startSource(t, { exitCode: 1 });
    const errors = await Promise.all(Array.from({ length: 10 }, () => rejection(token())));
    for (const error of errors) {
      assert.ok(error instanceof PluginError);
      assert.ok((error.retryAfterMs ?? 0) > 700 && (error.retryAfterMs ?? 0) <= 1_000, String(error.retryAfterMs));
    }
    assert.equal(await plugin.runs(), 1);
  });
});

test('a missing plugin is not retryable, and found after the time that its error names, when somebody has installed it', async (t) => {
  const { plugin, clock, token } = await startSource(t, { token: 'a' });
  const away = `${plugin.command}.away`;
  await rename(plugin.command, away);
  const missing = async () => {
    const error = await rejection(token());
    assert.ok(error instanceof PluginError, String(error));
    assert.deepEqual([error.code, error.retryable], ['PLUGIN_NOT_FOUND', false]);
    assert.ok(error.retryAfterMs !== undefined && error.retryAfterMs > 0);
    return error.retryAfterMs;
  };
  const afterMs = await missing();
  await rename(away, plugin.command);
  clock.now += afterMs - 1;
  await missing();
  clock.now += 1;
  assert.equal(await token(), 'Bearer a');
});

describe('when the plugin runs', () => {
  test('when the expiry has passed; equal is still valid', async (t) => {
    const { plugin, clock, token } = await startSource(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    await plugin.answer({ exitCode: 1 });
    clock.now = start + minutes(60);
    assert.equal(await token(), 'Bearer a');
    clock.now += 1;
    await assert.rejects(token, PluginError);
  });

  test('ahead of expiry, behind requests that are served with the old credential meanwhile', async (t) => {
    const answer = { token: 'a', expirationTimestamp: inMinutes(60) };
    const { plugin, clock, token, refreshed } = await startSource(t, answer);
    await token();
    clock.now += minutes(41);
    await token();
    assert.equal(await plugin.runs(), 1, 'too early: less than 70 % of the lifetime');
    await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(120), delayMs: 100 });
    clock.now = start + minutes(55);
    assert.equal(await token(), 'Bearer a');
    await refreshed('Bearer b');
    assert.equal(await plugin.runs(), 2);
  });

  test('a refresh ahead of expiry that fails is held back, and the old credential serves until it expires', async (t) => {
    const answer = { token: 'a', expirationTimestamp: inMinutes(60) };
    const { plugin, clock, token, warnings } = await startSource(t, answer);
    await token();
    await plugin.answer({ exitCode: 3 });
    const refreshes = published(t, 'plugin-run-start');
    clock.now = start + minutes(55);
    await token();
    await until(t, () => warnings() !== '');
    for (let i = 0; i < 50; i++) assert.equal(await token(), 'Bearer a');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(refreshes.length, 1);
    assert.match(warnings(), /the old credential stays in use: .*exit code 3/);
  });

  test('a short-lived credential is not refreshed at every request', async (t) => {
    const expirationTimestamp = new Date(start + 240_000).toISOString();
    const { plugin, clock, token } = await startSource(t, { token: 'a', expirationTimestamp });
    for (let i = 0; i < 100; i++) {
      await token();
      clock.now += 1_000;
    }
    assert.equal(await plugin.runs(), 1);
  });
});

test('a fleet of 15 sources that all got a one-hour credential at once spreads its refreshes', async (t) => {
  const { plugin, clock, create } = await startSource(t, { token: 'a', expirationTimestamp: inMinutes(60) });
  const started = published(t, 'plugin-run-start');
  const sources = Array.from({ length: 15 }, create);
  await Promise.all(sources.map((source) => source.get()));
  await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(600) });
  const counts: number[] = [];
  for (let minute = 0; minute < 60; minute++) {
    const before = started.length;
    for (const source of sources) source.get();
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(started.length - before);
    clock.now += minutes(1);
  }
  assert.equal(started.length, 30);
  // 70 % to 90 % of an hour: one or two in each of twelve minutes.
  const busy = counts.flatMap((count, minute) => (count > 0 ? [minute] : []));
  assert.ok(Math.max(...counts) < 10, `${Math.max(...counts)} in one minute`);
  assert.ok((busy[0] ?? 0) >= 42 && (busy.at(-1) ?? 60) <= 55, busy.join());
  await Promise.all(sources.map((source) => until(t, async () => (await source.get()).authorization === 'Bearer b')));
  assert.equal(await plugin.runs(), 30);
});

describe('a clock that steps', () => {
  test('forward past the expiry makes the next request wait for a run, and runs nothing where an answer has no expiry', async (t) => {
    const { plugin, clock, token } = await startSource(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    await token();
    await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(600) });
    clock.now += minutes(120);
    assert.equal(await token(), 'Bearer b');
    await plugin.answer({ token: 'c' });
    clock.now += minutes(1_200);
    for (let i = 0; i < 5; i++) {
      assert.equal(await token(), 'Bearer c', 'an answer without an expiry clears the one before');
      clock.now += minutes(60 * 24 * 365);
    }
    assert.equal(await plugin.runs(), 3);
  });

  test('back does not hold a failing plugin back for longer than was said', async (t) => {
    const { plugin, clock, token } = await startSource(t, { exitCode: 1 });
    await assert.rejects(token);
    await assert.rejects(token);
    assert.equal(await plugin.runs(), 1);
    clock.now -= minutes(600);
    await assert.rejects(token);
    await assert.rejects(token);
    assert.equal(await plugin.runs(), 2);
  });

  test('back, or to and fro, keeps the credential, and runs nothing', async (t) => {
    const { clock, token } = await startSource(t, { token: 'a', expirationTimestamp: inMinutes(60) });
    const runs = published(t, 'plugin-run-start');
    for (let i = 0; i < 200; i++) {
      clock.now = start - (i % 2) * minutes(600);
      assert.equal(await token(), 'Bearer a');
    }
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(runs.length, 1);
  });
});

test('an answer that has already expired is used, with a word, and held back like a failure', async (t) => {
  const answer = { token: 'a', expirationTimestamp: inMinutes(-10) };
  const { plugin, clock, token, warnings } = await startSource(t, answer);
  for (let i = 0; i < 50; i++) assert.equal(await token(), 'Bearer a');
  assert.equal(await plugin.runs(), 1);
  clock.now += 1_001;
  assert.equal(await token(), 'Bearer a');
  assert.equal(await plugin.runs(), 2);
  assert.match(warnings(), /^access provider google: plugin \S+ returned a credential that expired 601 s ago; /);
  assert.match(warnings(), /; it is used all the same\b.*\. Check the clocks/s);
  await plugin.answer({ token: 'b', expirationTimestamp: inMinutes(60) });
  clock.now += 2_001;
  assert.equal(await token(), 'Bearer b');
  assert.equal(warnings(), '');
});

describe('a failing plugin', () => {
  test('is held back for 1 s, doubling to 30 s; meanwhile callers get its last error at once', async (t) => {
    const { clock, token } = await startSource(t, { exitCode: 7 });
    const runs = published(t, 'plugin-run-start');
    const seconds: number[] = [];
    while (seconds.length < 8) {
      const began = clock.now;
      while (runs.length === seconds.length) {
        await assert.rejects(token, (error) => error instanceof PluginError && error.exitCode === 7);
        if (runs.length === seconds.length) clock.now += 250;
      }
      seconds.push((clock.now - began) / 1000);
    }
    const [first, ...holds] = seconds;
    assert.equal(first, 0);
    for (const [index, hold] of holds.entries()) {
      const full = Math.min(30, 2 ** index);
      assert.ok(hold >= full * 0.75 && hold <= full + 0.25, `${index}: ${hold}`);
    }
  });

  test('starts from 1 s again after a success', async (t) => {
    const { plugin, clock, token } = await startSource(t, { exitCode: 1 });
    for (let i = 0; i < 5; i++) {
      await assert.rejects(token);
      clock.now += 30_000;
    }
    await plugin.answer({ token: 'a', expirationTimestamp: new Date(clock.now + 1_000).toISOString() });
    await token();
    await plugin.answer({ exitCode: 1 });
    clock.now += 2_000;
    await assert.rejects(token);
    clock.now += 1_000;
    const runs = await plugin.runs();
    await assert.rejects(token);
    assert.equal(await plugin.runs(), runs + 1);
  });

  test('does not show a token of a run that was overtaken by invalidate()', async (t) => {
    const { plugin, source, token } = await startSource(t, { token: 'correct-horse-battery' });
    const overtaken = token();
    source.invalidate();
    assert.equal(await overtaken, 'Bearer correct-horse-battery');
    await plugin.answer({ exitCode: 1, stderr: 'refused: correct-horse-battery' });
    await assert.rejects(token, ({ message }: PluginError) => message.endsWith('stderr: refused: [redacted]'));
  });
});
