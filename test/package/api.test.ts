import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as errors from '../../src/errors/index.ts';
import * as root from '../../src/index.ts';
import { apiFile, publicApi } from './api.ts';

test('the public API is what api.txt says: where it is meant to change, npm run api writes it anew', () => {
  assert.equal(publicApi(), readFileSync(apiFile, 'utf8'), 'run npm run api, and look at what it changes in api.txt');
});

test('every error class can be imported from the root', () => {
  const classes = Object.entries(errors).filter(([, value]) => typeof value === 'function' && 'prototype' in value);
  assert.ok(classes.length > 5);
  for (const [name, value] of classes) assert.equal(Reflect.get(root, name), value, name);
});
