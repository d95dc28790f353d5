// A tenth of 200 clusters is dead in every way that there is, plugins fail, the hub restarts: what do the healthy ones notice? Two
// fleets see the same changes of the same clusters at the same moments, and only one of them has the faults: whatever else the
// machine does, it does to both.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { Address } from './fleet/dead-servers.ts';
import type { Order, Report } from './fleet/replica.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } }, strict: false });
const seconds = Number(values.seconds);
const healthy = 180;
const processes = 3;
const share = healthy / processes;
/** How much longer a reconcile of a healthy cluster may take, the median and one in a hundred. */
const most = { p50: 2, p99: 3 };
/** Milliseconds that count as nothing: below them a ratio says more of the machine than of the fleet. */
const noise = 10;

const children: ChildProcess[] = [];

function start(file: string, args: readonly string[], execArgv: readonly string[] = process.execArgv): ChildProcess {
  const child = fork(new URL(file, import.meta.url), args, { execArgv: [...execArgv] });
  children.push(child);
  return child;
}

/** What a child says next. Rejects when it ends without a word. */
async function next<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${child.spawnargs.slice(1).join(' ')} ended with ${signal ?? code}`);
  });
  const [message] = await Promise.race([once(child, 'message'), ended]);
  return message;
}

function quantile(latencies: Readonly<Record<string, number>>, part: number): number {
  const sorted = Object.values(latencies).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
}

try {
  const clusters = Array.from({ length: processes }, () =>
    start('../bench/fleet/clusters-process.ts', [String(share), '5'], []),
  );
  const good = (await Promise.all(clusters.map((child) => next<readonly Address[]>(child)))).flat();
  const [calm, faulty] = [start('fleet/replica.ts', ['calm']), start('fleet/replica.ts', ['faulty'])];
  const order = (replica: ChildProcess, what: Order) => replica.send(what);
  const both = async (what: Order) => {
    for (const replica of [calm, faulty]) order(replica, what);
    return await Promise.all([next<Report>(calm), next<Report>(faulty)]);
  };
  await both({ engage: good });
  // What is left of the start belongs to nobody's latency.
  await new Promise((resolve) => setTimeout(resolve, 2_000));

  const began = performance.now();
  let changes = 0;
  let restarted = false;
  while (performance.now() - began < seconds * 1_000) {
    const index = (changes * 7) % healthy;
    clusters[Math.floor(index / share)]?.send({ write: index % share, name: `change-${changes}` });
    changes += 1;
    if (!restarted && performance.now() - began > seconds * 500) {
      restarted = true;
      order(faulty, { restartHub: true });
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const [inCalm = {}, inFaulty = {}] = (await both({ finish: changes })).map((report) =>
    'latencies' in report ? report.latencies : {},
  );
  for (const [what, latencies] of Object.entries({ 'with faults': inFaulty, 'without faults': inCalm })) {
    const lost = Array.from({ length: changes }, (_, i) => `change-${i}`).filter((name) => !(name in latencies));
    if (lost.length > 0)
      throw new Error(
        `${lost.length} of ${changes} changes were not reconciled ${what}: ${lost.slice(0, 5).join(', ')}`,
      );
  }
  console.log(
    `${healthy} healthy clusters, ${changes} changes, none lost, with 20 that are dead and a hub that restarts:`,
  );
  for (const [part, name] of [
    [0.5, 'p50'],
    [0.99, 'p99'],
  ] as const) {
    const [ours, peers] = [quantile(inFaulty, part), quantile(inCalm, part)];
    const ratio = (ours + noise) / (peers + noise);
    console.log(`  ${name}: ${ours} ms, ${peers} ms without faults, ${ratio.toFixed(2)} of it`);
    if (!(ratio <= most[name])) {
      console.error(`  that is more than ${most[name]}`);
      process.exitCode = 1;
    }
  }
} finally {
  for (const child of children) if (child.connected) child.disconnect();
}
