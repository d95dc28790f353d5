import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const program = `
  import { stopSignal } from ${JSON.stringify(new URL('../../src/util/abortable.ts', import.meta.url).href)};
  const stop = stopSignal();
  stop.addEventListener('abort', () => console.log(stop.reason.message));
  setInterval(() => {}, 1_000);
  console.log('ready');
`;

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  test(`stopSignal aborts at the first ${name}, and a second one ends the process`, async (t) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    child.stdout.setEncoding('utf8');
    const lines = child.stdout[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'ready\n');
    child.kill(name);
    assert.equal((await lines.next()).value, `stopped by ${name}\n`);
    const ended = once(child, 'exit');
    child.kill(name);
    assert.deepEqual(await ended, [null, name]);
  });
}
