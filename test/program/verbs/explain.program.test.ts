import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProgram } from '../../fixtures/program.ts';

test('explain prints what a code means, why it happens and what to do, without marks of Markdown', async (t) => {
  const [one, bracketed, all] = await Promise.all([
    runProgram(t, ['explain', 'PLUGIN_NOT_FOUND']),
    runProgram(t, ['explain', '[plugin_not_found]']),
    runProgram(t, ['explain']),
  ]);
  assert.match(one.stdout, /^PLUGIN_NOT_FOUND\n\n- Means: .*\n(?:.*\n)*- Why: .*\n(?:.*\n)*- Do: /);
  assert.doesNotMatch(one.stdout, /\*\*|\]\(|^#/m);
  assert.equal(bracketed.stdout, one.stdout);
  const codes = all.stdout.split('\n');
  assert.ok(codes.includes('PLUGIN_NOT_FOUND') && codes.includes('CONNECT_TIMEOUT'), all.stdout);
});

test('explain says which code was meant, and ends with 5', async (t) => {
  const { stdout, stderr, exitCode } = await runProgram(t, ['explain', 'PLUGIN_NOTFOUND']);
  assert.deepEqual([stdout, exitCode], ['', 5]);
  assert.equal(
    stderr,
    'error: PLUGIN_NOTFOUND is no code of this program\nhint:  did you mean PLUGIN_NOT_FOUND? clusterprofile explain lists the codes',
  );
});
