import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as errors from '../../src/errors/index.ts';
import * as root from '../../src/index.ts';
import { apiFile, publicApi } from './api.ts';

test('the public API is what api.txt says: where it is meant to change, npm run api writes it anew', () => {
  assert.equal(publicApi(), readFileSync(apiFile, 'utf8'), 'run npm run api, and look at what it changes in api.txt');
});

test('every error class but that of /plugin can be imported from the root', () => {
  // Of a bundle, /plugin has a class of its own: an `instanceof` with one of the root would never hold.
  const { ExecInfoError: _, ...others } = errors;
  const classes = Object.entries(others).filter(([, value]) => Object(value).prototype instanceof Error);
  assert.ok(classes.length > 5);
  for (const [name, value] of classes) assert.equal(Reflect.get(root, name), value, name);
  assert.ok(!('ExecInfoError' in root));
});
