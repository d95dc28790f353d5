// npm run bench -- e2e: requests and watches on a real kube-apiserver, ours beside client-go's exec path and client-node's ExecAuth.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { writePlugin } from '../../src/testing/index.ts';
import {
  type BarePeer,
  type BenchCluster,
  execAuth,
  ourDispatcher,
  ourResource,
  ours,
  type Peer,
} from '../bench/peers.ts';
import { heading, median, report, time } from '../bench/report.ts';
import { benchWatches } from './bench-watches.ts';
import { startControlPlane } from './control-plane.ts';
import { kubeconfigText, serviceAccount } from './fixture.ts';
import { buildAccess, CannotBuild, findPrograms } from './go-programs.ts';

interface Round {
  /** Seconds for each request, over all callers. */
  readonly seconds: number;
  /** Microseconds of CPU for each request. */
  readonly cpu: number;
  /** Milliseconds that a caller waits: the median, and what one in a hundred exceeds. */
  readonly p50: number;
  readonly p99: number;
}

async function measure(peer: Peer | BarePeer, requests: number, workers: number): Promise<Round> {
  const send = 'send' in peer ? peer.send : () => peer.core.listNamespace();
  const latencies: number[] = [];
  const worker = async () => {
    for (let i = 0; i < requests / workers; i++) latencies.push(await time(send));
  };
  const used = process.cpuUsage();
  const began = performance.now();
  await Promise.all(Array.from({ length: workers }, worker));
  const { user, system } = process.cpuUsage(used);
  const seconds = (performance.now() - began) / 1_000 / requests;
  const sorted = latencies.toSorted((a, b) => a - b);
  const [p50 = Number.NaN, p99 = Number.NaN] = [0.5, 0.99].map((share) => sorted[Math.floor(sorted.length * share)]);
  return { seconds, cpu: (user + system) / requests, p50, p99 };
}

/** Each peer's figures, with their ratio to client-go's. */
function reportRounds(results: ReadonlyMap<string, readonly Round[]>): void {
  const floor = results.get('client-go') ?? [];
  for (const [name, rounds] of results) {
    const ratio = (of: (round: Round) => number) => median(rounds.map(of)) / median(floor.map(of));
    const rate = 1 / median(rounds.map(({ seconds }) => seconds));
    report(`${name}: requests per second`, rate, 'requests/s', {
      ratio: 1 / ratio(({ seconds }) => seconds),
      peer: 'client-go',
    });
    for (const [what, unit, of] of [
      ['median latency', 'ms', ({ p50 }: Round) => p50],
      ['latency of the slowest in a hundred', 'ms', ({ p99 }: Round) => p99],
      ['client CPU per request', 'us', ({ cpu }: Round) => cpu],
    ] as const) {
      const value = median(rounds.map(of));
      report(`${name}: ${what}`, value, unit, { ratio: ratio(of), peer: 'client-go' });
    }
  }
}

/** Rounds of client-go and of each peer by turns. The first one of a process warms it up. */
async function benchRounds(
  kubeconfig: string,
  peers: readonly (Peer | BarePeer)[],
  requests: number,
  workers: number,
  verb = '',
) {
  const results = new Map<string, Round[]>();
  const add = (name: string, round: Round) => results.set(name, [...(results.get(name) ?? []), round]);
  const args = [kubeconfig, String(requests), String(workers), '2', ...(verb === '' ? [] : [verb])];
  for (let round = 0; round < 6; round++) {
    const { stdout } = await execa(goClient, args);
    const measured: Round = JSON.parse(stdout.split('\n').at(-1) ?? '');
    if (round > 0) add('client-go', measured);
    for (const peer of peers) {
      const count = peer.name.includes('ExecAuth') ? requests / 10 : requests;
      const mine = await measure(peer, count, workers);
      if (round > 0) add(peer.name, mine);
    }
  }
  reportRounds(results);
}

/** `config.resource` beside client-go's dynamic client. */
async function benchResources(cluster: BenchCluster, kubeconfig: string): Promise<void> {
  for (const verb of ['apply', 'get'] as const) {
    const peer = ourResource(cluster, plugin, verb);
    for (const [workers, requests] of [
      [1, 500],
      [16, 3_200],
    ] as const) {
      heading(`${workers} ${workers === 1 ? 'caller' : 'callers'}: ${verb} of a ConfigMap on kube-apiserver`);
      await benchRounds(kubeconfig, [peer], requests, workers, verb);
    }
    await peer.close();
  }
}

/** 50 requests at once of what has just been started: the run of the plugin and the first connection are in it. */
async function benchColdStart(cluster: BenchCluster, kubeconfig: string): Promise<void> {
  heading('a cold start: 50 requests at once on kube-apiserver');
  const requests = 50;
  const seconds: number[] = [];
  const mine: number[] = [];
  for (let round = 0; round < 6; round++) {
    const { stdout } = await execa(goClient, [kubeconfig, String(requests), String(requests), '1']);
    const measured: Round = JSON.parse(stdout);
    const peer = ours(cluster, plugin);
    const took = (await measure(peer, requests, requests)).seconds;
    await peer.close();
    // The first round warms the programs up.
    if (round === 0) continue;
    seconds.push(measured.seconds * requests * 1_000);
    mine.push(took * requests * 1_000);
  }
  const value = median(mine);
  report('client-go: until all are answered', median(seconds), 'ms');
  report('ours: until all are answered', value, 'ms', { ratio: value / median(seconds), peer: 'client-go' });
}

/** The control plane's programs, and the client that stands on client-go. */
async function build(): Promise<string> {
  await buildAccess('./bench', goClient);
  return findPrograms(console.log);
}

const folder = await mkdtemp(join(tmpdir(), 'bench-e2e-'));
const goClient = join(folder, 'client-go');
const programs = await build().catch((error: unknown) => {
  if (!(error instanceof CannotBuild)) throw error;
  console.error(`nothing can be measured: ${error.message}`);
  process.exit(1);
});
const plane = await startControlPlane(programs, 'bench');
const { mint } = await serviceAccount(plane, 'bench');
const plugin = await writePlugin({ token: await mint() });
try {
  const { server, certificateAuthorityData } = plane;
  const cluster: BenchCluster = { server, certificateAuthorityData };
  const kubeconfig = join(folder, 'kubeconfig');
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command, interactiveMode: 'Never' };
  await writeFile(kubeconfig, kubeconfigText(cluster, { exec }));
  const peers = [ours(cluster, plugin), ourDispatcher(cluster, plugin), execAuth(cluster, plugin)];
  for (const workers of [1, 8, 32] as const) {
    heading(`${workers} ${workers === 1 ? 'caller' : 'callers'} listing namespaces on kube-apiserver`);
    const requests = { 1: 1_000, 8: 3_200, 32: 6_400 }[workers];
    await benchRounds(kubeconfig, peers, requests, workers);
  }
  await Promise.all(peers.map((peer) => peer.close()));
  await benchResources(cluster, kubeconfig);
  await benchColdStart(cluster, kubeconfig);
  await benchWatches(cluster, plugin, goClient, kubeconfig);
} finally {
  await plane.close();
  await plugin.remove();
  await rm(folder, { recursive: true, force: true });
}
