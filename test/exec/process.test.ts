import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProcess } from '../../src/exec/process.ts';
import { shellPlugin } from '../fixtures/script.ts';

test('a process is not started where it has been stopped before', async (t) => {
  const { command, runs } = await shellPlugin(t, 'echo hi');
  const options = { args: [], env: {}, timeoutMs: 10_000, maxBytes: 1_024 };
  await assert.rejects(runProcess(command, { ...options, stop: AbortSignal.abort() }), { name: 'AbortError' });
  assert.equal(await runs(), 0);
  const run = await runProcess(command, { ...options, stop: new AbortController().signal });
  assert.deepEqual([run.exitCode, run.stdout, await runs()], [0, 'hi', 1]);
});
