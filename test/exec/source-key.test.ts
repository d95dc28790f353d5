import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedExec } from '../../src/access/resolve.ts';
import { sourceKey } from '../../src/exec/plugin-call.ts';
import { CredentialProviders } from '../../src/index.ts';
import { startPlugin } from '../fixtures/fleet.ts';
import { envsExtension } from '../fixtures/resolving.ts';

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

test("AppendIfNotExists: a profile adds what the pod's environment lacks, and does not override what it has", async (t) => {
  const plugin = await startPlugin(t);
  process.env.CPC_TEST_REGION = 'pod';
  t.after(() => delete process.env.CPC_TEST_REGION);
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } as const;
  const providers = new CredentialProviders([
    { name: 'x', execConfig, profileSourcedEnvVarsPolicy: 'AppendIfNotExists' },
  ]);
  t.after(() => providers.close());
  const extension = { CPC_TEST_REGION: 'profile', CLIENT_ID: 'profile' };
  const cluster = { server: 'https://h', extensions: [{ name: envsExtension, extension }] };
  await providers.getConfig({ status: { accessProviders: [{ name: 'x', cluster }] } }).ready();
  const { CPC_TEST_REGION, CLIENT_ID } = await plugin.lastEnvironment();
  assert.deepEqual([CPC_TEST_REGION, CLIENT_ID], ['pod', 'profile']);
});
