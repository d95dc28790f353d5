import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Registry } from 'prom-client';
import { fetch } from 'undici';
import { CredentialMetrics, CredentialProviders, type Provider } from '../../src/index.ts';
import { published } from '../fixtures/channel.ts';
import { profileFor, startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { argsExtension, envsExtension } from '../fixtures/resolving.ts';
import { openWebSocket } from '../fixtures/tls-server.ts';

const provider: Provider = {
  name: 'google',
  execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: 'p' },
  profileSourcedCLIArgsPolicy: 'Append',
  profileSourcedEnvVarsPolicy: 'Replace',
  allowedProfiles: { namespaces: ['fleet'] },
  allowedServers: ['https://*.example.dev'],
  allowedArgs: ['-v'],
};
const server = 'https://a.example.dev';

/** What a profile may ask for, and how it is refused. */
const attacks = [
  ['SERVER_NOT_ALLOWED', { server: 'https://attacker.dev' }],
  ['SERVER_NOT_ALLOWED', { server, 'tls-server-name': 'attacker.dev' }],
  ['PROXY_NOT_ALLOWED', { server, 'proxy-url': 'http://attacker.dev' }],
  ['ENV_NOT_ALLOWED', { server, extensions: [{ name: envsExtension, extension: { LD_PRELOAD: '/x' } }] }],
  ['ARG_NOT_ALLOWED', { server, extensions: [{ name: argsExtension, extension: ['--exec=x'] }] }],
  ['SERVER_INSECURE', { server, 'insecure-skip-tls-verify': true }],
  ['PROFILE_TOO_LARGE', { server, extensions: [{ name: 'x', extension: 'x'.repeat(300_000) }] }],
] as const;
/** What is mistaken or unfinished, and no attack. */
const mistakes = [
  ['SERVER_INVALID', { server: 'attacker.dev' }],
  ['CLUSTER_INVALID', undefined],
] as const;

const profileWith = (cluster: object | undefined, namespace = 'fleet', name = 'spoke') => ({
  metadata: { name, namespace },
  status: { accessProviders: [{ name: 'google', ...(cluster ? { cluster } : {}) }] },
});

/** What is told on the channel, and what the counter says. */
function startAudit(t: TestContext) {
  const events = published(t, 'access-refused');
  const registry = new Registry();
  const count = async () => {
    const { values } = (await registry.getSingleMetric('clusterprofile_access_refused_total')?.get()) ?? { values: [] };
    return Object.fromEntries(values.map(({ labels, value }) => [`${labels.provider} ${labels.code}`, value]));
  };
  return { events, count, metrics: new CredentialMetrics({ registry }) };
}

test('a profile that breaks a rule or a limit is counted at each getConfig and reported on diagnostics_channel, a mistaken one is not', async (t) => {
  const { events, count, metrics } = startAudit(t);
  const providers = new CredentialProviders([provider], { metrics });
  t.after(() => providers.close());

  for (const [code, cluster] of [...attacks, ...mistakes]) {
    assert.throws(() => providers.resolve(profileWith(cluster)), { code });
  }
  assert.deepEqual([await count(), events], [{}, []], 'resolve is pure');

  for (const [code, cluster] of [...attacks, ...mistakes]) {
    assert.throws(() => providers.getConfig(profileWith(cluster)), { code, provider: 'google' });
  }
  const stranger = profileWith({ server }, 'tenant-7', 'spoke\u001b[2J');
  assert.throws(() => providers.getConfig(stranger), { code: 'PROFILE_NOT_ALLOWED' });
  assert.throws(() => providers.getConfig(stranger), { code: 'PROFILE_NOT_ALLOWED' });
  assert.throws(() => providers.getConfig({ status: { accessProviders: [] } }), { code: 'NO_MATCHING_PROVIDER' });
  assert.deepEqual(await count(), {
    'google SERVER_NOT_ALLOWED': 2,
    'google PROXY_NOT_ALLOWED': 1,
    'google ENV_NOT_ALLOWED': 1,
    'google ARG_NOT_ALLOWED': 1,
    'google SERVER_INSECURE': 1,
    'google PROFILE_TOO_LARGE': 1,
    'google PROFILE_NOT_ALLOWED': 2,
  });
  assert.equal(events.length, attacks.length + 2);
  const path = 'status.accessProviders[0].cluster.server';
  const ofServer = { profile: 'fleet/spoke', code: 'SERVER_NOT_ALLOWED', path };
  assert.deepEqual(events.at(0), { provider: 'google', ...ofServer });
  const ofProfile = { profile: 'tenant-7/spoke\\u001b[2J', code: 'PROFILE_NOT_ALLOWED', path: 'metadata.namespace' };
  assert.deepEqual(events.at(-1), { provider: 'google', ...ofProfile });
});

test('a request that is refused is counted and reported each time, and each target is warned about once: redirects and WebSockets too', async (t) => {
  const { events, count, metrics } = startAudit(t);
  const warnings: string[] = [];
  const logger = { warn: (_fields: object, line: string) => warnings.push(line) };
  const cluster = await startCluster(t, { pathPrefix: '/tenant-1' });
  const { origin } = new URL(cluster.url);
  const rules = { allowedServers: [cluster.url] };
  const config = startProviders(t, await startPlugin(t), { metrics, logger }, rules).getConfig(profileFor(cluster));
  const { dispatcher } = config;
  cluster.failNext({ redirect: `${origin}/tenant-2/secrets?token=x` });
  await assert.rejects(fetch(`${cluster.url}/version`, { dispatcher }));
  await assert.rejects(dispatcher.request({ origin, method: 'GET', path: '/tenant-2' }), { code: 'PATH_NOT_ALLOWED' });
  cluster.failNext({ redirect: 'https://attacker.dev/x?token=x' });
  await assert.rejects(fetch(`${cluster.url}/version`, { dispatcher }));
  await assert.rejects(openWebSocket(config, 'https://attacker.dev:9'), { code: 'FOREIGN_ORIGIN' });
  await assert.rejects(openWebSocket(config, `${origin}/tenant-2/exec`), { code: 'PATH_NOT_ALLOWED' });
  const told = { provider: 'fake', profile: 'fleet/spoke' };
  assert.deepEqual(events, [
    { ...told, code: 'PATH_NOT_ALLOWED', path: '/tenant-2/secrets' },
    { ...told, code: 'PATH_NOT_ALLOWED', path: '/tenant-2' },
    { ...told, code: 'FOREIGN_ORIGIN', path: 'https://attacker.dev' },
    { ...told, code: 'FOREIGN_ORIGIN', path: 'https://attacker.dev:9' },
    { ...told, code: 'PATH_NOT_ALLOWED', path: '/tenant-2/exec' },
  ]);
  assert.deepEqual(await count(), { 'fake PATH_NOT_ALLOWED': 3, 'fake FOREIGN_ORIGIN': 2 });
  await assert.rejects(dispatcher.request({ origin, method: 'GET', path: '/tenant-2' }), { code: 'PATH_NOT_ALLOWED' });
  assert.equal(warnings.length, 5, warnings.join('\n'));
  assert.equal(new Set(warnings).size, 5, 'each names its target');
  for (const line of warnings) assert.match(line, /^ClusterProfile fleet\/spoke, https:.* was refused: /);
});
