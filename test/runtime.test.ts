import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

test("npm scripts run on the pinned Node, not on the machine's", () => {
  assert.equal(process.version, `v${manifest.devDependencies.node}`);
});
