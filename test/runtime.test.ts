import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from './fixtures/docs.ts';

test("npm scripts run on the pinned Node, not on the machine's", () => {
  assert.equal(process.version, `v${JSON.parse(read('package.json')).devDependencies.node}`);
});
