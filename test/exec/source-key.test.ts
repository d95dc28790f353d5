import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedExec } from '../../src/access/resolve.ts';
import { sourceKey } from '../../src/exec/plugin-call.ts';

test("a variable that stands back before the process's own is another input than one that does not", () => {
  const exec: ResolvedExec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/bin/p',
    args: [],
    env: [{ name: 'REGION', value: 'eu' }],
    provideClusterInfo: false,
    interactiveMode: 'Never',
  };
  const key = (more: Partial<ResolvedExec>) =>
    sourceKey({ provider: 'p', origin: 'p', exec: { ...exec, ...more }, acceptedVersions: [], cluster: undefined });
  assert.equal(key({}), key({ appendIfNotExists: [] }));
  assert.notEqual(key({}), key({ appendIfNotExists: ['REGION'] }));
});
