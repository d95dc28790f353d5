// A kubeconfig with a context for each of a thousand clusters.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { startPublished } from '../../fixtures/published.ts';

test('publish takes 1,000 contexts, and a second run writes nothing', async (t) => {
  const { run, path, execUser, profiles, providers, versions } = await startPublished(t);
  const names = Array.from({ length: 1_000 }, (_, index) => `spoke-${index}`);
  const kubeconfig = {
    clusters: names.map((name) => ({ name, cluster: { server: `https://${name}.example.dev` } })),
    users: [{ name: 'u', user: execUser('1') }],
    contexts: names.map((name) => ({ name, context: { cluster: name, user: 'u' } })),
  };
  await writeFile(path('kubeconfig'), JSON.stringify(kubeconfig));
  const first = await run('--skip-health');
  assert.deepEqual([first.stderr, first.exitCode], ['', 0]);
  assert.equal(profiles().length, 1_000);
  const before = [versions(), await providers()];
  const second = await run('--skip-health');
  assert.equal(second.stdout.match(/ unchanged /g)?.length, 1_000);
  assert.deepEqual([versions(), await providers()], before);
});
