import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import { Registry } from 'prom-client';
import { Registry as Registry14 } from 'prom-client-14';
import { CredentialMetrics, CredentialProviders } from '../../src/index.ts';
import { profileFor, startCluster, startFleet, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { clusterOf, load } from '../fixtures/kubeconfigs.ts';
import { startMeasured } from '../fixtures/measured.ts';
import { until } from '../fixtures/until.ts';

const requests = (state: string, provider = 'fake') =>
  `clusterprofile_credential_requests_total{provider="${provider}",state="${state}"}`;
const calls = (code: string, status: string) =>
  `rest_client_exec_plugin_call_total{code="${code}",call_status="${status}"}`;

test('metrics go into a registry of prom-client 14 too', async (t) => {
  const registry = new Registry14();
  const cluster = await startCluster(t);
  const providers = startProviders(t, await startPlugin(t), { metrics: new CredentialMetrics({ registry }) });
  await providers.getConfig(profileFor(cluster)).ready();
  const text = await registry.metrics();
  for (const line of [
    `${requests('ok')} 1`,
    'clusterprofile_credential_duration_seconds_bucket{le="+Inf",provider="fake"} 1',
    'clusterprofile_credential_duration_seconds_count{provider="fake"} 1',
    'clusterprofile_credential_cache_entries{provider="fake"} 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), text);
  }
});

describe('metrics of plugin runs', () => {
  test('count a good one, how long it took, and what is held', async (t) => {
    const expiresAt = Math.floor(Date.now() / 1000) + 3_600;
    const expirationTimestamp = new Date(expiresAt * 1_000).toISOString();
    const { core, value, providers } = await startMeasured(t, { token: 'token-1', expirationTimestamp });
    assert.equal(await value('clusterprofile_credential_cache_entries{provider="fake"}'), undefined);
    await Promise.all(Array.from({ length: 10 }, () => core.listNamespace()));
    assert.equal(await value(requests('ok')), 1);
    assert.equal(await value(calls('0', 'no_error')), 1);
    assert.equal(await value('clusterprofile_credential_duration_seconds_count{provider="fake"}'), 1);
    assert.equal(await value('clusterprofile_credential_cache_entries{provider="fake"}'), 1);
    assert.equal(await value('clusterprofile_credential_expiry_timestamp_seconds{provider="fake"}'), expiresAt);
    assert.equal(await value('clusterprofile_plugin_runs_in_progress{provider="fake"}'), 0);
    assert.equal(await value('rest_client_exec_plugin_ttl_seconds'), Number.POSITIVE_INFINITY);
    await providers.close();
    assert.equal(await value('clusterprofile_credential_cache_entries{provider="fake"}'), undefined);
  });

  for (const [what, answer, state, call] of [
    ['fails', { exitCode: 3 }, 'exec_error', ['3', 'plugin_execution_error']],
    ['answers nonsense', { stdout: '{' }, 'invalid_response', ['0', 'no_error']],
    ['does not answer in time', { delayMs: 600_000 }, 'timeout', ['-1', 'plugin_execution_error']],
  ] as const) {
    test(`count one that ${what}`, async (t) => {
      const { config, value } = await startMeasured(t, answer, state === 'timeout' ? { pluginTimeoutMs: 300 } : {});
      await assert.rejects(config.ready());
      assert.equal(await value(requests(state)), 1);
      assert.equal(await value(calls(call[0], call[1])), 1);
      assert.equal(await value('clusterprofile_plugin_runs_in_progress{provider="fake"}'), 0);
    });
  }

  test('count one that is missing', async (t) => {
    const { plugin, config, value } = await startMeasured(t);
    await plugin.remove();
    await assert.rejects(config.ready(), { code: 'PLUGIN_NOT_FOUND' });
    assert.equal(await value(requests('not_found')), 1);
    assert.equal(await value(calls('1', 'plugin_not_found_error')), 1);
  });

  test('count one that may not run, which client-go does not count as a call', async (t) => {
    const { config, value } = await startMeasured(t, {}, { pluginPolicy: { policyType: 'DenyAll' } });
    await assert.rejects(config.ready(), { code: 'PLUGIN_NOT_ALLOWED' });
    assert.equal(await value(requests('not_allowed')), 1);
    assert.equal(await value(calls('1', 'client_internal_error')), undefined);
  });

  test('show one under way', async (t) => {
    const { config, plugin, value, providers } = await startMeasured(t, { token: 'token-1', delayMs: 600_000 });
    const ready = config.ready();
    await until(t, async () => (await plugin.runs()) > 0);
    assert.equal(await value('clusterprofile_plugin_runs_in_progress{provider="fake"}'), 1);
    const stopped = assert.rejects(ready, { code: 'PLUGIN_STOPPED' });
    await providers.close();
    await stopped;
    assert.equal(await value('clusterprofile_plugin_runs_in_progress{provider="fake"}'), 0);
  });
});

describe('metrics of credentials', () => {
  const expiry = 'clusterprofile_credential_expiry_timestamp_seconds{provider="fake"}';

  test('tell of no expiry of a credential that nobody uses, so that no alert fires for an idle cluster', async (t) => {
    let now = Date.now();
    const expiresAt = Math.floor(now / 1000) + 3_600;
    const expirationTimestamp = new Date(expiresAt * 1000).toISOString();
    const clock = () => now;
    const { config, plugin, value } = await startMeasured(t, { token: 'token-1', expirationTimestamp }, { clock });
    await config.ready();
    assert.equal(await value(expiry), expiresAt);
    now += 1_000_000;
    assert.equal(await value(expiry), undefined, 'nobody has asked for a quarter of an hour');
    await config.ready();
    assert.equal(await value(expiry), expiresAt);
    now -= 3_600_000;
    assert.equal(await value(expiry), undefined, 'nobody has asked since the clock was set back');
    await config.ready();
    assert.equal(await value(expiry), expiresAt);
    now = (expiresAt - 60) * 1000;
    await config.ready();
    // So shortly before the end another run begins beside it.
    await until(t, async () => (await value(calls('0', 'no_error'))) === 2);
    now += 120_000;
    assert.equal(await value(expiry), undefined, 'nobody has asked since it expired');
    assert.equal(await value('clusterprofile_credential_cache_entries{provider="fake"}'), 1);
    await plugin.answer({ exitCode: 1 });
    await assert.rejects(config.ready());
    assert.equal(await value(expiry), expiresAt, 'somebody needs it, and gets none');
    now += 60_000;
    await plugin.answer({ token: 'token-1', expirationTimestamp: new Date(now + 600_000).toISOString() });
    await config.ready();
    assert.ok(((await value(expiry)) ?? 0) > expiresAt);
  });

  test('count refusals by servers, and show when the first certificate in use ends and how old one was when it was replaced', async (t) => {
    let now = Date.now();
    const { cluster, plugin, config, core, value } = await startMeasured(t, {}, { clock: () => now });
    const { certificate, key } = cluster.certificateAuthority.issue({ commonName: 'me', client: true });
    await plugin.answer({ clientCertificateData: certificate, clientKeyData: key });
    await core.listNamespace();
    const ttl = (await value('rest_client_exec_plugin_ttl_seconds')) ?? 0;
    assert.ok(ttl > 0 && Number.isFinite(ttl), String(ttl));
    now += 1_000_000;
    assert.equal(await value('rest_client_exec_plugin_ttl_seconds'), Number.POSITIVE_INFINITY, 'nobody uses it');
    await config.ready();
    assert.ok(Number.isFinite(await value('rest_client_exec_plugin_ttl_seconds')));
    assert.equal(await value('rest_client_exec_plugin_certificate_rotation_age_count'), 0);
    await plugin.answer({ token: 'token-1' });
    cluster.failNext(401);
    await core.listNamespace();
    assert.equal(await value('rest_client_exec_plugin_certificate_rotation_age_count'), 1);
    assert.equal(await value('clusterprofile_unauthorized_responses_total{provider="fake"}'), 1);
    assert.equal(await value(requests('ok')), 2);
    assert.equal(await value('rest_client_exec_plugin_ttl_seconds'), Number.POSITIVE_INFINITY);
  });

  test('of a kubeconfig stand under "kubeconfig"; no label holds a cluster', async (t) => {
    const { registry, metrics, cluster, plugin, value } = await startMeasured(t);
    const config = load(t, { cluster: clusterOf(cluster), exec: { command: plugin.command } }, { metrics });
    await config.ready();
    assert.equal(await value(requests('ok', 'kubeconfig')), 1);
    assert.equal(await value('clusterprofile_credential_cache_entries{provider="kubeconfig"}'), 1);
    await config.close();
    assert.equal(await value('clusterprofile_credential_cache_entries{provider="kubeconfig"}'), undefined);
    assert.doesNotMatch(await registry.metrics(), /bob|127\.0\.0\.1|spoke/);
  });

  test('are shared by several providers, and a registry takes them once', async () => {
    const registry = new Registry();
    const metrics = new CredentialMetrics({ registry });
    for (let i = 0; i < 2; i++) await new CredentialProviders([], { metrics }).close();
    assert.throws(() => new CredentialMetrics({ registry }), /already been registered/);
    // @ts-expect-error not metrics
    assert.throws(() => new CredentialProviders([], { metrics: registry }), /metrics: must be new CredentialMetrics/);
  });
});

describe('metrics of requests', () => {
  for (const hosts of [false, true]) {
    test(`are client-go's, ${hosts ? 'with the host where that is asked for' : 'without hosts by default'}`, async (t) => {
      const registry = new Registry();
      const metrics = new CredentialMetrics({ registry, hosts });
      const { cluster, config } = await startFleet(t, { options: { metrics } });
      const core = config.makeApiClient(CoreV1Api);
      await core.listNamespace();
      await assert.rejects(core.readNamespace({ name: 'missing' }), { code: 404 });
      await cluster.close();
      await assert.rejects(core.createNamespace({ body: { metadata: { name: 'a' } } }), { name: 'ConnectionError' });
      const text = await registry.metrics();
      const host = hosts ? new URL(cluster.url).host : '';
      for (const line of [
        `rest_client_requests_total{code="200",method="GET",host="${host}"} 1`,
        `rest_client_requests_total{code="404",method="GET",host="${host}"} 1`,
        `rest_client_requests_total{code="<error>",method="POST",host="${host}"} 1`,
        `rest_client_request_duration_seconds_count{verb="GET",host="${host}"} 2`,
      ]) {
        assert.ok(text.split('\n').includes(line), `${line} is missing:\n${text}`);
      }
    });
  }
});
