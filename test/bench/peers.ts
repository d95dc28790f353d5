import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { CoreV1Api, KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher, request } from 'undici';
import { CredentialProviders } from '../../src/index.ts';
import { generatedClient } from '../../src/rest/generated-client.ts';
import type { TestPlugin } from '../../src/testing/index.ts';

export interface Peer {
  readonly name: string;
  readonly core: CoreV1Api;
  close(): Promise<void>;
}

export interface BenchCluster {
  readonly server: string;
  readonly certificateAuthorityData: string;
  connections(): Promise<number>;
  close(): void;
}

/** Starts a FakeCluster in another process. */
export async function startCluster(): Promise<BenchCluster> {
  const child: ChildProcess = fork(new URL('./cluster-process.ts', import.meta.url), { execArgv: [] });
  const [{ url, certificateAuthorityData }] = await once(child, 'message');
  return {
    server: url,
    certificateAuthorityData,
    connections: async () => {
      child.send('stats');
      const [{ connections }] = await once(child, 'message');
      return connections;
    },
    close: () => child.disconnect(),
  };
}

/** This package. */
export function ours(cluster: BenchCluster, { command }: TestPlugin): Peer {
  const { providers, config } = providersFor(cluster, command);
  return { name: 'ours', core: config.makeApiClient(CoreV1Api), close: () => providers.close() };
}

/** What `config.resource` does with the ConfigMap default/bench. */
export function ourResource(cluster: BenchCluster, { command }: TestPlugin, verb: 'get' | 'apply'): BarePeer {
  const { providers, config } = providersFor(cluster, command);
  const kind = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', fieldManager: 'bench' };
  const object = { metadata: { name: 'bench' }, data: { colour: 'red' } };
  const send = () =>
    verb === 'get' ? config.resource(kind).get('bench') : config.resource(kind).apply(object, { force: true });
  return { name: `config.resource ${verb}`, send, close: () => providers.close() };
}

function providersFor({ server, certificateAuthorityData }: BenchCluster, command: string) {
  const providers = new CredentialProviders([
    { name: 'x', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command } },
  ]);
  const cluster = { server, 'certificate-authority-data': certificateAuthorityData };
  const config = providers.getConfig({
    metadata: { name: 'x' },
    status: { accessProviders: [{ name: 'x', cluster }] },
  });
  return { providers, config };
}

function kubeConfig(
  { server, certificateAuthorityData }: BenchCluster,
  user: object,
  config = new KubeConfig(),
): KubeConfig {
  config.loadFromOptions({
    clusters: [{ name: 'x', server, caData: certificateAuthorityData }],
    users: [{ name: 'x', ...user }],
    contexts: [{ name: 'x', cluster: 'x', user: 'x' }],
    currentContext: 'x',
  });
  return config;
}

/** client-node's own exec support. */
export function execAuth(cluster: BenchCluster, { command }: TestPlugin): Peer {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
  const config = kubeConfig(cluster, { exec });
  return { name: "client-node's ExecAuth", core: config.makeApiClient(CoreV1Api), close: async () => {} };
}

/** A request of undici's own, without client-node. */
export interface BarePeer {
  readonly name: string;
  send(): Promise<unknown>;
  close(): Promise<void>;
}

/** This package's `config.dispatcher`. */
export function ourDispatcher(
  cluster: BenchCluster,
  { command }: Pick<TestPlugin, 'command'>,
): BarePeer & { readonly dispatcher: Dispatcher } {
  const { providers, config } = providersFor(cluster, command);
  const { dispatcher } = config;
  const send = async () => (await request(listUrl(cluster), { dispatcher })).body.text();
  return { name: 'config.dispatcher', send, dispatcher, close: () => providers.close() };
}

/** undici itself, with a token that is already there. */
export function bareUndici(cluster: BenchCluster): BarePeer {
  const agent = createAgent(cluster);
  const headers = { authorization: 'Bearer bench-token' };
  const send = async () => (await request(listUrl(cluster), { dispatcher: agent, headers })).body.text();
  return { name: 'bare undici.request', send, close: () => agent.close() };
}

const listUrl = ({ server }: BenchCluster) => `${server}/api/v1/namespaces`;

function createAgent({ certificateAuthorityData }: BenchCluster): Agent {
  const ca = Buffer.from(certificateAuthorityData, 'base64');
  return new Agent({ allowH2: true, connect: { ca, allowH2: true }, keepAliveTimeout: 90_000 });
}

/** client-node with a token that is already there, on one agent for all requests: no credential work at all. */
export function staticToken(cluster: BenchCluster, library: 'fetch' | 'undici.request'): Peer {
  const agent = createAgent(cluster);
  class StaticToken extends KubeConfig {
    override async applySecurityAuthentication(context: RequestContext): Promise<void> {
      context.setHeaderParam('Authorization', 'Bearer bench-token');
      context.setDispatcher(agent);
    }
  }
  const config = kubeConfig(cluster, {}, new StaticToken());
  const log = { explain: () => '', cluster: { name: 'bench', server: cluster.server } };
  const core =
    library === 'fetch'
      ? config.makeApiClient(CoreV1Api)
      : generatedClient(CoreV1Api, config, cluster.server, { dispatcher: agent, maxResponseBytes: 2 ** 29, log });
  return { name: `static token on ${library}`, core, close: () => agent.close() };
}
