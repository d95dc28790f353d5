import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  CoreV1Api,
  createConfiguration,
  KubeConfig,
  type RequestContext,
  ServerConfiguration,
} from '@kubernetes/client-node';
import { Agent } from 'undici';
import { CredentialProviders } from '../../src/index.ts';
import { createHttpLibrary } from '../../src/rest/http-library.ts';
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
export function ours({ server, certificateAuthorityData }: BenchCluster, { command }: TestPlugin): Peer {
  const providers = new CredentialProviders([
    { name: 'x', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command } },
  ]);
  const cluster = { server, 'certificate-authority-data': certificateAuthorityData };
  const config = providers.getConfig({
    metadata: { name: 'x' },
    status: { accessProviders: [{ name: 'x', cluster }] },
  });
  return { name: 'ours', core: config.makeApiClient(CoreV1Api), close: () => providers.close() };
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

/** client-node with a token that is already there, on one agent for all requests: no credential work at all. */
export function staticToken(cluster: BenchCluster, library: 'fetch' | 'undici.request'): Peer {
  const ca = Buffer.from(cluster.certificateAuthorityData, 'base64');
  const agent = new Agent({ allowH2: true, connect: { ca, allowH2: true }, keepAliveTimeout: 90_000 });
  class StaticToken extends KubeConfig {
    override async applySecurityAuthentication(context: RequestContext): Promise<void> {
      context.setHeaderParam('Authorization', 'Bearer bench-token');
      context.setDispatcher(agent);
    }
  }
  const config = kubeConfig(cluster, {}, new StaticToken());
  const baseServer = new ServerConfiguration(cluster.server, {});
  const httpApi = createHttpLibrary(agent);
  const core =
    library === 'fetch'
      ? config.makeApiClient(CoreV1Api)
      : new CoreV1Api(createConfiguration({ baseServer, httpApi, authMethods: { default: config } }));
  return { name: `static token on ${library}`, core, close: () => agent.close() };
}
