// The commands of docs/walk-through.md, as npm run demo -- real runs them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { blocks } from '../fixtures/docs.ts';
import { programs } from './fixture.ts';

const demo = fileURLToPath(new URL('./demo.ts', import.meta.url));

test('the walk-through is true: both spokes are used, a revoked token is named, and the controller goes on with the next', async () => {
  const { exitCode, all } = await execa(process.execPath, [demo], {
    env: { KUBEBUILDER_ASSETS: programs },
    all: true,
    reject: false,
  });
  assert.equal(exitCode, 0, all);
  const [, , ...steps] = blocks('docs/walk-through.md', 'sh');
  assert.equal(steps.length, 7);
  for (const step of steps) assert.ok(all.includes(step.replace(/^(?=.)/gm, '  ')), step);
  const [, before = '', revoked = '', after = ''] =
    /^3\. ([\s\S]*)^5\. ([\s\S]*)^6\. ([\s\S]*)$/m.exec(all) ?? assert.fail(all);
  for (const text of [before, after]) assert.match(text, /^2 clusters: 2 ok$/m);
  for (const spoke of ['spoke-1', 'spoke-2'])
    assert.match(before, new RegExp(`^fleet-system/${spoke}: labelled default$`, 'm'));
  assert.match(revoked, /^ {2}FAIL {2}authentication .* refuses the credential \(401/m);
  assert.match(after, /^fleet-system\/spoke-1: labelled team-a$/m);
  assert.doesNotMatch(all, /eyJ[\w-]+\.eyJ/, 'no token is printed');
});
