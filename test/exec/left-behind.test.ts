// Processes that a plugin leaves behind, and what of it they hold open.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runPlugin } from '../../src/exec/plugin.ts';
import { call, failureOf, options } from '../fixtures/plugin-call.ts';
import { print, shellPlugin } from '../fixtures/script.ts';

/** Until the test ends, which takes the folder away. */
const stay = `sh -c 'while [ -e "$0/runs" ]; do sleep 0.05; done' "$DIR"`;
const answer = print({ token: 't' });

describe('a plugin that leaves a process behind', () => {
  for (const [session, start] of [
    ['its session', stay],
    ['a session of its own', `setsid ${stay}`],
  ] as const) {
    test(`in ${session}, which holds its stderr only, gives its answer`, async (t) => {
      const plugin = await shellPlugin(t, `${start} >/dev/null </dev/null &\n${answer}`);
      const credential = await runPlugin(call({ command: plugin.command }), options(t, { timeoutMs: 20_000 }));
      assert.equal(credential.authorization, 'Bearer t');
    });

    test(`in ${session}, which holds its stderr only, and fails, is told with all that it wrote there`, async (t) => {
      const plugin = await shellPlugin(t, `${start} >/dev/null </dev/null &\necho why >&2\nexit 3`);
      const error = await failureOf(t, plugin, 'PLUGIN_FAILED', { timeoutMs: 20_000 });
      assert.deepEqual([error.exitCode, error.stderr], [3, 'why']);
    });
  }
});
