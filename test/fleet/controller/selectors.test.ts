import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSelected } from '../../../src/fleet/controller/written.ts';

test('selectors of a cache are read as an API server does', () => {
  const object = {
    metadata: { namespace: 'n', name: 'a', labels: { app: 'x', 'example.dev/tier': '3', empty: '' } },
    spec: { nodeName: 'node-1' },
  };
  for (const [labelSelector, expected] of [
    ['app=x', true],
    ['app == x , !gone', true],
    ['app!=x', false],
    ['gone!=x', true],
    ['app in (y, x),example.dev/tier', true],
    ['app notin (y,x)', false],
    ['gone notin (y)', true],
    ['empty=', true],
    ['example.dev/tier>2,example.dev/tier<4', true],
    ['gone', false],
    ['!app', false],
    ['constructor', false],
  ] as const)
    assert.equal(isSelected({ labelSelector }, object), expected, labelSelector);
  for (const [fieldSelector, expected] of [
    ['metadata.name=a', true],
    ['metadata.name==a,spec.nodeName!=node-2', true],
    ['spec.nodeName=', false],
    ['status.phase=', true],
    ['status.phase!=Running', true],
  ] as const)
    assert.equal(isSelected({ fieldSelector }, object), expected, fieldSelector);
  assert.equal(isSelected({ namespace: 'other' }, object), false);
});
