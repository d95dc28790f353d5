/** One cluster, its plugin and its config, with a clock and a credential that faults may turn. */
import assert from 'node:assert/strict';
import { CredentialProviders } from '../../src/index.ts';
import { FakeCluster, type PluginAnswer, writePlugin } from '../../src/testing/index.ts';
import { profileFor } from '../fixtures/fleet.ts';
import { envsExtension } from '../fixtures/resolving.ts';

export const lifetimeMs = 5_000;
export const timeoutMs = 1_000;

export type World = Awaited<ReturnType<typeof startWorld>>;

export async function startWorld() {
  let clockOffset = 0;
  const clock = () => Date.now() + clockOffset;
  const cluster = await FakeCluster.start({ tokens: { 'token-0': 'me' }, pathPrefix: '/v1/projects/1' });
  // The server redirects to other tenants: none of them may see a request.
  cluster.onRequest = ({ url }) => assert.ok(url.startsWith('/v1/projects/1/'), url);
  const plugin = await writePlugin({ token: 'token-0' });
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } as const;
  const rules = { profileSourcedEnvVarsPolicy: 'AppendIfNotExists', allowedServers: [cluster.url] } as const;
  const logger = { warn: () => {} };
  const startProviders = (options: { readonly clock?: () => number } = {}) =>
    new CredentialProviders([{ name: 'fake', execConfig, ...rules }], {
      ...options,
      pluginTimeoutMs: timeoutMs,
      logger,
    });
  const providers = startProviders({ clock });
  const variables = { name: envsExtension, extension: { CPC_FAULTS_A: 'profile', CPC_FAULTS_B: 'profile' } };
  const profile = profileFor(cluster, { extensions: [variables] });

  let generation = 0;
  /** The token of now, and no other. */
  const acceptToken = () => cluster.setTokens({ [`token-${generation}`]: 'me' });
  /** What the plugin answers while nothing is wrong: the token that the server takes, for a few seconds. */
  const good = (): PluginAnswer => ({
    token: `token-${generation}`,
    expirationTimestamp: new Date(clock() + lifetimeMs).toISOString(),
  });
  return {
    cluster,
    plugin,
    clock,
    stepClock: (ms: number) => {
      clockOffset += ms;
    },
    startProviders,
    providers,
    profile,
    config: providers.getConfig(profile),
    acceptToken,
    rotate: () => {
      generation += 1;
      acceptToken();
    },
    /** Written anew as time goes on: an issuer's expiry moves, too. */
    heal: () => plugin.answer(good()),
  };
}
