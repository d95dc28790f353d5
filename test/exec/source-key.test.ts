import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedExec } from '../../src/access/resolve.ts';
import { sourceKey } from '../../src/exec/plugin-call.ts';
import { call } from '../fixtures/plugin-call.ts';

test("a variable that stands back before the process's own is another input than one that does not", () => {
  const env = [{ name: 'REGION', value: 'eu' }];
  const key = (more: Partial<ResolvedExec>) => sourceKey(call({ command: '/bin/p', env, ...more }));
  assert.equal(key({}), key({ appendIfNotExists: [] }));
  assert.notEqual(key({}), key({ appendIfNotExists: ['REGION'] }));
});
