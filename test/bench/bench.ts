// npm run bench [-- --json]
// Absolute figures depend on the machine; quote the ratios, which are against a peer in the same run.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { inspect } from 'node:util';
import { CoreV1Api } from '@kubernetes/client-node';
import { runPlugin } from '../../src/exec/plugin.ts';
import type { ClusterProfile } from '../../src/index.ts';
import { CredentialProviders } from '../../src/index.ts';
import { FakeCluster, type TestPlugin, writePlugin } from '../../src/testing/index.ts';
import { Troubles } from '../../src/troubles.ts';
import { imageCredentials } from './images.ts';
import {
  type BarePeer,
  type BenchCluster,
  bareUndici,
  execAuth,
  ourDispatcher,
  ours,
  type Peer,
  startCluster,
  staticToken,
} from './peers.ts';
import { finish, heading, median, report, time } from './report.ts';

async function firstRequests(plugin: TestPlugin): Promise<void> {
  heading('(a) 50 concurrent first requests');
  for (const start of [ours, execAuth]) {
    const cluster = await startCluster();
    const peer = start(cluster, plugin);
    const before = await plugin.runs();
    await Promise.all(Array.from({ length: 50 }, () => peer.core.listNamespace()));
    report({ bench: 'a', what: `${peer.name}: plugin runs`, value: (await plugin.runs()) - before, unit: 'runs' });
    report({ bench: 'a', what: `${peer.name}: connections`, value: await cluster.connections(), unit: 'connections' });
    await peer.close();
    cluster.close();
  }
}

interface Round {
  readonly seconds: number;
  readonly cpu: number;
}

type Rival = Peer | BarePeer;

async function measure(peer: Rival, requests: number, workers: number): Promise<Round> {
  const send = 'send' in peer ? peer.send : () => peer.core.listNamespace();
  const worker = async () => {
    for (let i = 0; i < requests / workers; i++) await send();
  };
  const used = process.cpuUsage();
  const ms = await time(() => Promise.all(Array.from({ length: workers }, worker)));
  const { user, system } = process.cpuUsage(used);
  return { seconds: ms / 1000 / requests, cpu: (user + system) / requests };
}

/** Rounds in turn, so that a machine that changes its speed changes it for all; ratios are taken round by round. */
async function compare(
  bench: string,
  peers: readonly Rival[],
  floorPeer: Rival,
  rounds: number,
  requests: number,
  workers: number,
): Promise<void> {
  const results = new Map<Rival, Round[]>(peers.map((peer) => [peer, []]));
  const countFor = ({ name }: Rival) => (name.includes('ExecAuth') ? Math.ceil(requests / 10) : requests);
  // The compiler needs a few thousand requests before the figures stand still.
  for (const peer of peers) await measure(peer, countFor(peer) * 10, workers);
  for (let round = 0; round < rounds; round++) {
    for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
      results.get(peer)?.push(await measure(peer, countFor(peer), workers));
    }
  }
  const floor = results.get(floorPeer) ?? [];
  for (const [{ name }, each] of results) {
    const ratioOf = (of: (round: Round) => number) =>
      median(each.map((round, index) => of(round) / of(floor[index] ?? round)));
    const rate = 1 / median(each.map(({ seconds }) => seconds));
    const peer = floorPeer.name;
    report({
      bench,
      what: `${name}: requests per second`,
      value: rate,
      unit: 'requests/s',
      ratio: 1 / ratioOf(({ seconds }) => seconds),
      peer,
    });
    const cpu = median(each.map((round) => round.cpu));
    report({
      bench,
      what: `${name}: client CPU per request`,
      value: cpu,
      unit: 'us',
      ratio: ratioOf((round) => round.cpu),
      peer,
    });
  }
}

async function requests(cluster: BenchCluster, plugin: TestPlugin): Promise<void> {
  const floor = staticToken(cluster, 'undici.request');
  const peers = [ours(cluster, plugin), floor, staticToken(cluster, 'fetch'), execAuth(cluster, plugin)];
  heading('(b) requests one after the other');
  await compare('b-sequential', peers, floor, 15, 500, 1);
  heading('(b) requests of 32 callers');
  await compare('b-32', peers, floor, 15, 3_200, 32);
  await Promise.all(peers.map((peer) => peer.close()));

  heading('(b) requests of 32 callers through config.dispatcher');
  const bare = bareUndici(cluster);
  const direct = ourDispatcher(cluster, plugin);
  await compare('b-dispatcher', [direct, bare], bare, 15, 3_200, 32);
  await Promise.all([direct.close(), bare.close()]);
}

function profileOf(index: number): ClusterProfile {
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { clusterName: `spoke-${index}` } }];
  const cluster = { server: `https://spoke-${index}.example.dev`, extensions };
  return {
    metadata: { name: `spoke-${index}`, namespace: 'fleet' },
    status: { accessProviders: [{ name: 'x', cluster }] },
  };
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function resolving({ command }: TestPlugin): Promise<void> {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command, provideClusterInfo: true } as const;
  const providers = new CredentialProviders([{ name: 'x', execConfig }]);
  const profiles = Array.from({ length: 10_000 }, (_, index) => profileOf(index));
  heading('(c) 10,000 distinct profiles');
  for (const method of ['resolve', 'getConfig'] as const) {
    const each = Array.from({ length: 5 }, () => {
      const began = performance.now();
      for (const profile of profiles) providers[method](profile);
      return ((performance.now() - began) / profiles.length) * 1000;
    });
    report({ bench: 'c', what: `${method}, per profile`, value: median(each), unit: 'us' });
  }
  const before = heapUsed();
  const configs = profiles.map((profile) => providers.getConfig(profile));
  report({ bench: 'c', what: 'heap of an idle config', value: (heapUsed() - before) / configs.length, unit: 'bytes' });

  heading('(d) getConfig 100,000 times for one profile');
  const [profile] = profiles;
  if (!profile || configs.length === 0) return;
  for (let i = 0; i < 20_000; i++) providers.getConfig(profile);
  const flat = heapUsed();
  const ms = await time(async () => {
    for (let i = 0; i < 100_000; i++) {
      const config = providers.getConfig(profile);
      // The reconciles of a controller take their lease; none of them gives it back.
      if (i % 100 === 0) await config.ready();
    }
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  report({ bench: 'd', what: 'getConfig, per call', value: (ms / 100_000) * 1000, unit: 'us' });
  report({ bench: 'd', what: 'heap grown by', value: heapUsed() - flat, unit: 'bytes' });
  const [, connections = '?', sources = '?'] = /connections: (\d+), sources: (\d+)/.exec(inspect(providers)) ?? [];
  report({ bench: 'd', what: 'connections kept', value: Number(connections), unit: '' });
  report({ bench: 'd', what: 'credential sources kept', value: Number(sources), unit: '' });
  await providers.close();
}

async function pluginRuns({ command }: TestPlugin): Promise<void> {
  heading('(e) plugin runs per second, 8 at once');
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args: [],
    env: [],
    provideClusterInfo: false,
    interactiveMode: 'Never',
  } as const;
  const logger = { warn: () => {} };
  const options = {
    timeoutMs: 10_000,
    maxConcurrentRuns: 8,
    cleanEnvironment: false,
    pluginPolicy: { policyType: 'AllowAll' as const },
    strictPluginFiles: false,
    logger,
    troubles: new Troubles({ logger, clock: Date.now }),
    signal: new AbortController().signal,
  };
  const runners = {
    bare: async () => {
      const child = spawn(command, { stdio: ['ignore', 'pipe', 'pipe'] });
      child.stdout.resume();
      child.stderr.resume();
      await once(child, 'close');
    },
    ours: () =>
      runPlugin(
        { provider: 'x', origin: 'access provider x', exec, acceptedVersions: [exec.apiVersion], cluster: undefined },
        options,
      ),
  };
  const rates = { bare: [] as number[], ours: [] as number[] };
  for (let round = 0; round < 5; round++) {
    for (const name of ['bare', 'ours'] as const) {
      let left = 160;
      const worker = async () => {
        while (left-- > 0) await runners[name]();
      };
      const ms = await time(() => Promise.all(Array.from({ length: 8 }, worker)));
      rates[name].push(160_000 / ms);
    }
  }
  report({ bench: 'e', what: 'bare child_process.spawn', value: median(rates.bare), unit: 'runs/s' });
  const ratio = median(rates.ours) / median(rates.bare);
  report({ bench: 'e', what: 'ours', value: median(rates.ours), unit: 'runs/s', ratio, peer: 'bare spawn' });
}

async function coldStart({ command }: TestPlugin): Promise<void> {
  heading('(g) 10,000 cold sources at once');
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command, provideClusterInfo: true } as const;
  const providers = new CredentialProviders([{ name: 'x', execConfig }]);
  const before = heapUsed();
  let [heap, descriptors] = [0, 0];
  const timer = setInterval(() => {
    heap = Math.max(heap, process.memoryUsage().heapUsed - before);
    descriptors = Math.max(descriptors, readdirSync('/proc/self/fd').length);
  }, 20);
  const configs = Array.from({ length: 10_000 }, (_, index) => providers.getConfig(profileOf(index)));
  const ms = await time(() => Promise.all(configs.map((config) => config.ready())));
  clearInterval(timer);
  report({ bench: 'g', what: 'plugin runs', value: 10_000_000 / ms, unit: 'runs/s' });
  report({ bench: 'g', what: 'most heap, above that before', value: heap / 1024 / 1024, unit: 'MiB' });
  report({ bench: 'g', what: 'heap kept for each credential', value: (heapUsed() - before) / 10_000, unit: 'bytes' });
  report({ bench: 'g', what: 'most descriptors', value: descriptors, unit: '' });
  await providers.close();
}

async function rotation(): Promise<void> {
  heading('(h) 32 callers while the client certificate is rotated 100 times');
  const cluster = await FakeCluster.start();
  const plugin = await writePlugin();
  const rotate = async (commonName: string) => {
    const { certificate, key } = cluster.certificateAuthority.issue({ commonName, client: true });
    await plugin.answer({ clientCertificateData: certificate, clientKeyData: key });
  };
  await rotate('0');
  const providers = new CredentialProviders([
    { name: 'x', execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command } },
  ]);
  const { url: server, certificateAuthorityData } = cluster;
  const config = providers.getConfig({
    metadata: { name: 'x' },
    status: {
      accessProviders: [{ name: 'x', cluster: { server, 'certificate-authority-data': certificateAuthorityData } }],
    },
  });
  const core = config.makeApiClient(CoreV1Api);
  let stopped = false;
  let [answered, failed] = [0, 0];
  const worker = async () => {
    while (!stopped) {
      await core.listNamespace().then(
        () => answered++,
        () => failed++,
      );
    }
  };
  const workers = Array.from({ length: 32 }, worker);
  for (let i = 1; i <= 100; i++) {
    await rotate(String(i));
    config.invalidate();
    await config.ready();
  }
  stopped = true;
  await Promise.all(workers);
  report({ bench: 'h', what: 'requests answered', value: answered, unit: 'requests' });
  report({ bench: 'h', what: 'requests failed', value: failed, unit: 'requests' });
  await providers.close();
  await cluster.close();
  await plugin.remove();
}

function importTime(): void {
  heading('(f) import time');
  const measure = (imports: string) => {
    const program = `const began = performance.now(); ${imports} console.log(performance.now() - began);`;
    const once = () =>
      Number(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }));
    return median(Array.from({ length: 7 }, once));
  };
  const peer = measure(`await import('@kubernetes/client-node');`);
  const both = measure(`await import('@kubernetes/client-node'); await import('clusterprofile-credentials');`);
  report({ bench: 'f', what: '@kubernetes/client-node', value: peer, unit: 'ms' });
  report({
    bench: 'f',
    what: 'with ours on top',
    value: both,
    unit: 'ms',
    ratio: both / peer,
    peer: 'client-node alone',
  });
}

const plugin = await writePlugin({ token: 'bench-token' });
const cluster = await startCluster();
try {
  await firstRequests(plugin);
  await requests(cluster, plugin);
  await resolving(plugin);
  await pluginRuns(plugin);
  await coldStart(plugin);
  await rotation();
  await imageCredentials();
  importTime();
  finish();
} finally {
  cluster.close();
  await plugin.remove();
}
