import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { fetch } from 'undici';
import { PluginError } from '../../src/index.ts';
import { defaultLogger } from '../../src/observability/logger.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { rejection } from '../fixtures/thrown.ts';

test('at debug each step is there, with the cluster: runs, refreshes, 401s, retries and pools', async (t) => {
  const cluster = await startCluster(t);
  const plugin = await startPlugin(t, { token: 'token-1', stderr: 'a word of the plugin' });
  const lines: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  const say = (level: string) => (fields: object, message: string) => lines.push({ level, fields, message });
  const logger = { debug: say('debug'), info: say('info'), warn: say('warn') };
  const providers = startProviders(t, plugin, { logger });
  const core = providers.getConfig(profileFor(cluster)).makeApiClient(CoreV1Api);
  await core.listNamespace();
  cluster.setTokens({ 'token-2': 'me' });
  await plugin.answer({ token: 'token-2', expirationTimestamp: '2999-01-01T00:00:00Z' });
  await core.listNamespace();
  cluster.failNext({ status: 503, retryAfterSeconds: 0 });
  await core.listNamespace();
  await providers.close();
  const own = `ClusterProfile fleet/spoke, ${cluster.url}: `;
  const said = lines.map(({ level, message }) => {
    assert.ok(message.startsWith(own), message);
    const rest = message
      .slice(own.length)
      .replaceAll(plugin.command, '/plugin')
      .replace(/\d+ ms\)$/, 'N ms)');
    return `${level}: ${rest}`;
  });
  const of = 'access provider fake: plugin /plugin:';
  assert.deepEqual(said, [
    `debug: ${of} is run, reason: first`,
    `info: ${of} stderr: a word of the plugin`,
    `debug: ${of} gave a token, without an expiry (after N ms)`,
    'debug: a pool of connections was opened',
    'debug: GET /api/v1/namespaces was answered with 401: the credential is refreshed',
    `debug: ${of} is run, reason: rejected`,
    `debug: ${of} gave a token, good until 2999-01-01T00:00:00.000Z (after N ms)`,
    'debug: GET /api/v1/namespaces is sent again, with a new credential',
    'debug: GET /api/v1/namespaces is sent again in 0 ms: status 503',
    'debug: a pool of connections was closed',
  ]);
  const common = { profile: 'fleet/spoke', server: cluster.url, provider: 'fake' };
  for (const { fields } of lines) assert.deepEqual({ ...common, ...fields }, fields, 'has these fields');
});

test('the code of an error is in its text, its stack and its line of the log, once in each, and in those of its copy for another caller', async (t) => {
  const lines: { readonly fields: object; readonly message: string }[] = [];
  const logger = { warn: (fields: object, message: string) => lines.push({ fields, message }) };
  const { cluster, config } = await startFleet(t, { answer: { exitCode: 1 }, options: { logger } });
  const error = await rejection(config.makeApiClient(CoreV1Api).listNamespace());
  const opening = `PluginError [PLUGIN_FAILED]: ClusterProfile fleet/spoke, ${cluster.url}: access provider fake: `;
  assert.ok(error instanceof PluginError);
  assert.deepEqual([error.name, error.code], ['PluginError', 'PLUGIN_FAILED']);
  assert.ok(!error.message.includes('PLUGIN_FAILED'), 'the message has none');
  const ofFetch = await rejection(fetch(cluster.url, { dispatcher: config.dispatcher }));
  const { cause: copy } = Object(ofFetch);
  assert.notEqual(copy, error);
  for (const one of [error, copy]) {
    for (const text of [String(one), String(one.stack), inspect(one).replace(/^ {2}code: .*$/m, '')]) {
      assert.ok(text.startsWith(opening), text);
      assert.equal(text.split('PLUGIN_FAILED').length, 2, text);
    }
  }
  assert.ok(inspect(ofFetch).includes(`[cause]: ${opening}`), inspect(ofFetch));
  const fields = { profile: 'fleet/spoke', server: cluster.url, provider: 'fake', code: 'PLUGIN_FAILED' };
  assert.deepEqual([lines.length, lines[0]?.fields], [1, fields]);
  assert.ok(!lines[0]?.message.includes('PLUGIN_FAILED'), lines[0]?.message);
});

test('the default logger shows the code of an error in front of its message, and says a warning again when it comes again', (t) => {
  const warn = mock.method(console, 'warn', () => undefined);
  t.after(() => warn.mock.restore());
  for (let i = 0; i < 2; i++) defaultLogger.warn({ code: 'PLUGIN_TIMEOUT' }, 'the plugin hangs');
  defaultLogger.warn({}, 'the server is away');
  const said = warn.mock.calls.map(({ arguments: [line] }) => line);
  const start = performance.now();
  defaultLogger.warn({}, '\n'.repeat(10_000_000));
  assert.ok(performance.now() - start < 1_000, 'millions of lines take no time');
  const hangs = 'clusterprofile-credentials [PLUGIN_TIMEOUT]: the plugin hangs';
  assert.deepEqual(said, [hangs, hangs, 'clusterprofile-credentials: the server is away']);
});
