// An informer in a process of its own, for the ConfigMaps of a namespace: ours, or client-node's. It speaks as the one of client-go
// in test/e2e/access/informer does: says when it has synced, and then answers "count", "reset" and "dump".
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import {
  type KubernetesObject as ClientNodeObject,
  CoreV1Api,
  KubeConfig,
  makeInformer,
  VersionApi,
} from '@kubernetes/client-node';
import { systemClock } from '../../../src/fleet/clock.ts';
import { Informer } from '../../../src/fleet/informer/informer.ts';
import { CredentialProviders } from '../../../src/index.ts';
import { ApiServer } from '../../../src/rest/api/api-server.ts';
import type { KubernetesObject } from '../../../src/rest/api/kubernetes-object.ts';
import type { NodePeer, Target } from './informer-peers.ts';

/** What the bench tells this process. */
type Told = Target & { readonly peer: NodePeer };

interface Peer {
  /** One request: a cluster is engaged before its informers begin, so there is a credential and a connection. */
  prepare(): Promise<unknown>;
  begin(event: () => void): Promise<void>;
  objects(): readonly (KubernetesObject | ClientNodeObject)[];
}

const told: Told = JSON.parse(process.argv[2] ?? '');

function ours({ peer, server, certificateAuthorityData, command, namespace, cluster: more }: Told): Peer {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command } as const;
  const providers = new CredentialProviders([{ name: 'x', execConfig }]);
  const cluster = { server, 'certificate-authority-data': certificateAuthorityData, ...more };
  const config = providers.getConfig({ status: { accessProviders: [{ name: 'x', cluster }] } });
  const api = new ApiServer(config, systemClock);
  let informer: Informer | undefined;
  return {
    prepare: async () => {
      const { body } = await api.get('/version', { signal: new AbortController().signal });
      await body.dump();
    },
    begin: async (event) => {
      const logger = { warn: (_fields: object, message: string) => console.error(message) };
      informer = new Informer(
        { apiVersion: 'v1', kind: 'ConfigMap', namespace, metadataOnly: peer === 'ours, metadata' },
        { server: api, clock: systemClock, logger, fields: {} },
        new AbortController().signal,
      );
      informer.subscribe(event);
      await informer.synced();
    },
    objects: () => informer?.list() ?? [],
  };
}

function clientNode({ server, certificateAuthorityData: caData, token, namespace }: Told): Peer {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'x', server, caData }],
    users: [{ name: 'x', token }],
    contexts: [{ name: 'x', cluster: 'x', user: 'x' }],
    currentContext: 'x',
  });
  const core = config.makeApiClient(CoreV1Api);
  const list = () => core.listNamespacedConfigMap({ namespace });
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list);
  return {
    prepare: () => config.makeApiClient(VersionApi).getCode(),
    begin: async (event) => {
      for (const name of ['add', 'update', 'delete'] as const) informer.on(name, event);
      informer.on('error', (error) => console.error(error));
      await informer.start();
    },
    objects: () => informer.list(),
  };
}

const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);
const peer = told.peer === 'client-node' ? clientNode(told) : ours(told);
const cpuSeconds = (since?: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
};
/** Bytes on the heap when everything that can be collected has been. */
const collected = async () => {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
};
/** Not `resourceUsage().maxRSS`, which begins with the memory of the process that forked this one. */
const peak = () => Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024;

let events = 0;
await peer.prepare();
const before = await collected();
// The end of its preparation.
await new Promise((resolve) => setTimeout(resolve, 100));
const start = peak();
const began = performance.now();
let used = process.cpuUsage();
await peer.begin(() => {
  events += 1;
});
const seconds = (performance.now() - began) / 1_000;
const cpu = cpuSeconds(used);
const objects = peer.objects().length;
say({
  seconds,
  cpu,
  objects,
  start,
  peak: peak(),
  heap: ((await collected()) - before) / Math.max(objects, 1),
});
events = 0;
used = process.cpuUsage();
for await (const line of createInterface(process.stdin)) {
  if (line === 'count') {
    say({ events, cpu: cpuSeconds(used), peak: peak() });
  } else if (line === 'reset') {
    events = 0;
    used = process.cpuUsage();
    say({});
  } else if (line === 'dump') {
    const versions = peer.objects().map((object) => {
      const { metadata: { namespace, name, resourceVersion, uid } = {} } = object;
      const text: unknown = Object(Reflect.get(object, 'data')).v;
      return [`${namespace}/${name}`, `${resourceVersion} ${uid} ${typeof text === 'string' ? text.length : 0}`];
    });
    say({ objects: Object.fromEntries(versions) });
  }
}
process.exit(0);
