/** 1,000 watches of one namespace on one config, beside client-go: what they take, and how soon a change has reached them all. */
import { readdirSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { request } from 'undici';
import type { TestPlugin } from '../../src/testing/index.ts';
import { type BenchCluster, ourDispatcher } from '../bench/peers.ts';
import { heading, report } from '../bench/report.ts';

const count = 1_000;
const name = 'default';

/** Milliseconds until all are open and until all have told of the change; for each watch microseconds of CPU and bytes. */
interface Figures {
  readonly open: number;
  readonly event: number;
  readonly cpu: number;
  readonly memory: number;
  readonly sockets: number;
}

const units = { open: 'ms', event: 'ms', cpu: 'us', memory: 'bytes', sockets: 'sockets' } as const;
const titles: Readonly<Record<keyof Figures, string>> = {
  open: 'until all are open',
  event: 'until a change has reached all',
  cpu: 'CPU to open one',
  memory: 'resident memory of one',
  sockets: 'sockets',
};

export async function benchWatches(cluster: BenchCluster, plugin: TestPlugin, goClient: string, kubeconfig: string) {
  heading(`${count} watches of a namespace on kube-apiserver`);
  const { stdout } = await execa(goClient, [kubeconfig, 'watches', String(count), name]);
  const peer: Figures = JSON.parse(stdout);
  // In a process of its own, as the Go program: what this one has allocated before would not be counted.
  const settings = JSON.stringify({ cluster, command: plugin.command });
  const child = await execa(process.execPath, [fileURLToPath(import.meta.url), settings]);
  const mine: Figures = JSON.parse(child.stdout);
  for (const key of Object.keys(units) as (keyof Figures)[] /* the keys of a constant */) {
    report(`client-go: ${titles[key]}`, peer[key], units[key]);
    report(`ours: ${titles[key]}`, mine[key], units[key], { ratio: mine[key] / peer[key], peer: 'client-go' });
  }
}

async function watch(cluster: BenchCluster, plugin: Pick<TestPlugin, 'command'>): Promise<Figures> {
  const { dispatcher, close } = ourDispatcher(cluster, plugin);
  const url = `${cluster.server}/api/v1/namespaces`;
  const { metadata } = JSON.parse(await (await request(`${url}/${name}`, { dispatcher })).body.text());
  const query = new URLSearchParams({
    watch: 'true',
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: metadata.resourceVersion,
  });
  const before = {
    memory: process.memoryUsage.rss(),
    sockets: countSockets(),
    cpu: process.cpuUsage(),
    at: performance.now(),
  };
  const bodies = await Promise.all(
    Array.from({ length: count }, async () => (await request(`${url}?${query}`, { dispatcher })).body),
  );
  const { user, system } = process.cpuUsage(before.cpu);
  const open = performance.now() - before.at;
  const memory = (process.memoryUsage.rss() - before.memory) / count;
  const sockets = countSockets();
  const told = Promise.all(bodies.map((body) => new Promise<void>((resolve) => body.once('data', () => resolve()))));
  const changed = performance.now();
  await request(`${url}/${name}`, {
    dispatcher,
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { labels: { changed: `node-${Date.now()}` } } }),
  }).then(({ body }) => body.dump());
  await told;
  const event = performance.now() - changed;
  for (const body of bodies) body.on('error', () => undefined).destroy();
  await close();
  return { open, event, cpu: (user + system) / count, memory, sockets };
}

function countSockets(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      // The descriptor of this listing itself.
      return false;
    }
  }).length;
}

if (import.meta.main) {
  const { cluster, command } = JSON.parse(process.argv[2] ?? '');
  console.log(JSON.stringify(await watch(cluster, { command })));
}
