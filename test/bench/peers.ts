/** Who sends the requests of the benches: this package's clients, and client-node's own. */
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { type Dispatcher, request } from 'undici';
import { CredentialProviders } from '../../src/index.ts';
import type { TestPlugin } from '../../src/testing/index.ts';

export interface Peer {
  readonly name: string;
  readonly core: CoreV1Api;
  close(): Promise<void>;
}

export interface BenchCluster {
  readonly server: string;
  readonly certificateAuthorityData: string;
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

/** client-node's own exec support. */
export function execAuth({ server, certificateAuthorityData: caData }: BenchCluster, { command }: TestPlugin): Peer {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'x', server, caData }],
    users: [{ name: 'x', exec }],
    contexts: [{ name: 'x', cluster: 'x', user: 'x' }],
    currentContext: 'x',
  });
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
  const url = `${cluster.server}/api/v1/namespaces`;
  const send = async () => (await request(url, { dispatcher })).body.text();
  return { name: 'config.dispatcher', send, dispatcher, close: () => providers.close() };
}
