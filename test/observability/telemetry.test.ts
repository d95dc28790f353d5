import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenTo } from '../fixtures/channel.ts';
import { startMeasured } from '../fixtures/measured.ts';

test('events on diagnostics_channel tell of runs, credentials, refusals and pools, joined by a run id and without a secret', async (t) => {
  const events: [name: string, event: Readonly<Record<string, unknown>>][] = [];
  const names = ['plugin-run-start', 'plugin-run-end', 'credential', 'rejection', 'pool'];
  for (const name of names) listenTo(t, name, (event) => events.push([name, { ...Object(event) }]));
  const { cluster, plugin, core, providers } = await startMeasured(t, { token: 'token-1', stderr: 'token-1' });
  await core.listNamespace();
  cluster.setTokens({ 'token-2': 'me' });
  await plugin.answer({ token: 'token-2', expirationTimestamp: '2040-01-01T00:00:00Z' });
  await core.listNamespace();
  await plugin.answer({ exitCode: 1 });
  cluster.failNext(401);
  await assert.rejects(core.listNamespace());
  await providers.close();
  const short = events.map(([name, { runId, durationMs, command, origin, ...event }]) => {
    if (name.startsWith('plugin-run')) assert.equal(command, plugin.command);
    if (name === 'plugin-run-end') assert.ok(typeof durationMs === 'number' && durationMs > 0);
    if (name === 'rejection' || name === 'pool') assert.equal(origin, cluster.url);
    return [name, event];
  });
  const provider = 'fake';
  assert.deepEqual(short, [
    ['plugin-run-start', { provider, reason: 'first' }],
    ['plugin-run-end', { provider, reason: 'first', state: 'ok', exitCode: 0 }],
    ['credential', { provider, hasToken: true, hasCertificate: false }],
    ['pool', { provider, change: 'opened', hasCertificate: false }],
    ['plugin-run-start', { provider, reason: 'rejected' }],
    ['plugin-run-end', { provider, reason: 'rejected', state: 'ok', exitCode: 0 }],
    ['credential', { provider, hasToken: true, hasCertificate: false, expiresAt: Date.UTC(2040, 0) }],
    ['rejection', { provider, statusCode: 401, refreshed: true }],
    ['plugin-run-start', { provider, reason: 'rejected' }],
    ['plugin-run-end', { provider, reason: 'rejected', state: 'exec_error', code: 'PLUGIN_FAILED', exitCode: 1 }],
    ['rejection', { provider, statusCode: 401, refreshed: false }],
    ['pool', { provider, change: 'closed', hasCertificate: false }],
  ]);
  const runIds = events.filter(([name]) => name.startsWith('plugin-run')).map(([, { runId }]) => runId);
  assert.deepEqual(runIds, [runIds[0], runIds[0], runIds[2], runIds[2], runIds[4], runIds[4]]);
  assert.doesNotMatch(JSON.stringify(events), /token-[12]/);
});
