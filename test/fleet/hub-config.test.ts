import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { KubeConfig, type RequestContext, type User } from '@kubernetes/client-node';
import { Fleet, LeaderElection, reflect } from '../../src/fleet/index.ts';
import { RestConfig } from '../../src/index.ts';
import { parseKubeconfigOptions, readKubeconfig } from '../../src/rest/from-kubeconfig.ts';
import { Connections } from '../../src/rest/transport/connections.ts';
import { type FakeCluster, writePlugin } from '../../src/testing/index.ts';
import { isEngaged, kubeconfigFor, startHub } from '../fixtures/fleet-hub.ts';
import { listen } from '../fixtures/listen.ts';
import { until } from '../fixtures/until.ts';

/** What a program that uses client-node has loaded. */
function kubeConfigOf({ url: server, certificateAuthorityData: caData }: FakeCluster, user: Omit<User, 'name'>) {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'hub', server, caData }],
    users: [{ name: 'me', ...user }],
    contexts: [{ name: 'hub', cluster: 'hub', user: 'me' }],
    currentContext: 'hub',
  });
  return config;
}

async function writeToken(t: TestContext, token: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-config-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'token'), token);
  return join(folder, 'token');
}

const users: Readonly<Record<string, (t: TestContext) => Promise<Omit<User, 'name'>>>> = {
  'with a token': async () => ({ token: 'hub' }),
  "of a pod's service account": async (t) => {
    const tokenFile = await writeToken(t, 'hub');
    return { authProvider: { name: 'tokenFile', config: { tokenFile } } };
  },
  'with a plugin': async (t) => {
    const plugin = await writePlugin({ token: 'hub' });
    t.after(() => plugin.remove());
    const apiVersion = 'client.authentication.k8s.io/v1';
    return { exec: { apiVersion, command: plugin.command, interactiveMode: 'Never' } };
  },
};

const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/true', interactiveMode: 'Never' };
const refused: Readonly<Record<string, readonly [Omit<User, 'name'>, RegExp]>> = {
  'a plugin that wants the extensions of its cluster': [
    { exec: { ...exec, provideClusterInfo: true } },
    /provideClusterInfo is true, and the extensions of its cluster are lost$/,
  ],
  'a plugin beside its kubeconfig': [
    { exec: { ...exec, command: './plugin' } },
    /exec\.command is a relative path, and the folder of its kubeconfig is lost$/,
  ],
  'an auth-provider': [{ authProvider: { name: 'gcp' } }, /auth-provider: is not supported: use exec$/],
};

class OwnConfig extends KubeConfig {
  override async applySecurityAuthentication(_context: RequestContext): Promise<void> {}
}

describe('a KubeConfig of client-node as a hub', () => {
  for (const [what, userFor] of Object.entries(users))
    test(`${what} is converted: a fleet, an election and reflect work with it`, async (t) => {
      const { hub, run, publish, spoke, logger } = await startHub(t);
      publish('one', await spoke());
      const config = kubeConfigOf(hub, await userFor(t));
      const fleet = run({ hub: config });
      await until(t, () => isEngaged(fleet, 'one'));
      const election = new LeaderElection({ hub: config, namespace: 'default', name: 'x', logger });
      let led = false;
      const stop = new AbortController();
      await election.run({
        signal: stop.signal,
        onStartedLeading: () => {
          led = true;
          stop.abort();
        },
      });
      assert.ok(led);
      const kind = { apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' };
      for await (const event of reflect(config, { ...kind, logger })) if (event.type === 'InitDone') break;
    });

  for (const [what, [user, message]] of Object.entries(refused))
    test(`is refused with ${what}, and the error says what to use`, async (t) => {
      const { hub, providers } = await startHub(t);
      const config = kubeConfigOf(hub, user);
      const expected = { code: 'OPTION_INVALID', message };
      assert.throws(() => new Fleet({ hub: config, providers }), expected);
      assert.throws(() => new LeaderElection({ hub: config, namespace: 'default', name: 'x' }), expected);
      assert.throws(() => reflect(config, { apiVersion: 'v1', kind: 'Pod' }), /RestConfig\.fromDefault\(\)/);
    });

  test('is refused where its class has an authentication of its own', async (t) => {
    const { hub, providers } = await startHub(t);
    const config = new OwnConfig();
    config.loadFromString(kubeconfigFor(hub, 'hub'));
    const message = /use RestConfig\.fromDefault\(\).*authenticates in a way of its own/;
    assert.throws(() => new Fleet({ hub: config, providers }), { code: 'OPTION_INVALID', message });
  });

  test('is refused where its server has a password, which the error does not show', async (t) => {
    const { hub, providers } = await startHub(t);
    const config = kubeConfigOf(hub, { token: 'hub' });
    const password = 'hunter2secretPW';
    config.clusters = [{ name: 'hub', server: `https://admin:${password}@127.0.0.1:1`, skipTLSVerify: false }];
    assert.throws(
      () => new Fleet({ hub: config, providers }),
      (error) =>
        /server: holds a user or password: take it out/.test(String(error)) && !String(error).includes(password),
    );
  });
});

/** A way to a server that can fall silent: connections that stand stay open, and carry nothing any more. New ones work. */
async function startWay(t: TestContext, url: string) {
  const outgoing = new Set<Socket>();
  const server = createServer((incoming) => {
    const other = connect(Number(new URL(url).port), '127.0.0.1');
    outgoing.add(other.on('error', () => incoming.destroy()));
    incoming.on('close', () => other.destroy());
    incoming.pipe(other).pipe(incoming);
  });
  const { port, open } = await listen(t, server);
  const fallSilent = () => {
    for (const socket of [...open, ...outgoing]) socket.unpipe().pause();
  };
  return { url: `https://127.0.0.1:${port}`, fallSilent };
}

test('a fleet sees its hub again when the connection has died silently', async (t) => {
  const { hub, run, publish, spoke } = await startHub(t);
  const way = await startWay(t, hub.url);
  const cluster = await spoke();
  publish('one', cluster);
  const { certificateAuthorityData } = hub;
  const options = { logger: { warn: () => undefined } };
  const parts = readKubeconfig({ text: kubeconfigFor({ url: way.url, certificateAuthorityData }, 'hub') }, options);
  // As in life, but faster.
  const liveness = { pingIntervalMs: 200, silenceMs: 1_000 };
  const connections = new Connections({ ...parseKubeconfigOptions(options), signal: t.signal, liveness });
  const config = RestConfig.create({ ...parts, connections });
  t.after(() => config.close());
  const fleet = run({ hub: config });
  await until(t, () => isEngaged(fleet, 'one'));
  way.fallSilent();
  publish('two', cluster);
  await until(t, () => isEngaged(fleet, 'two'));
});
