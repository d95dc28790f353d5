// A tenth of 200 clusters is dead in every way that there is, plugins fail, the hub restarts: what do the healthy ones notice? Two
// fleets see the same changes of the same clusters at the same moments, and only one of them has the faults: whatever else the
// machine does, it does to both.
//
// With --hostile 20 of 100 clusters send as much as is read instead: lists without an end, objects of 8 MB, floods of events. The
// fleet without faults has them in another process beside it, so that both are short of the same processors.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { Address } from './fleet/dead-servers.ts';
import type { Order, Report } from './fleet/replica.ts';
import { quantile } from './pairs.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, hostile: { type: 'boolean', default: false } },
});
const { hostile } = values;
const seconds = Number(values.seconds);
const healthy = hostile ? 81 : 180;
const processes = 3;
const share = healthy / processes;
/** How much longer a reconcile of a healthy cluster may take, the median and one in a hundred: that one may wait for an object of 8 MB. */
const most = hostile ? { p50: 2, p99: Number.POSITIVE_INFINITY } : { p50: 2, p99: 3 };
/** Milliseconds that count as nothing: below them a ratio says more of the machine than of the fleet. */
const noise = hostile ? 50 : 10;

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

try {
  const clusters = Array.from({ length: processes }, () =>
    start('../bench/fleet/clusters-process.ts', [String(share), '5'], []),
  );
  const good = (await Promise.all(clusters.map((child) => next<readonly Address[]>(child)))).flat();
  const calm = start('fleet/replica.ts', ['calm']);
  const faulty = start('fleet/replica.ts', [hostile ? 'calm' : 'faulty']);
  const ask = (replica: ChildProcess, what: Order) => {
    replica.send(what);
    return next<Report>(replica);
  };
  const both = (what: Order) => Promise.all([ask(calm, what), ask(faulty, what)]);
  if (hostile) {
    const bad = await next<readonly Address[]>(start('fleet/hostile-servers.ts', ['20'], []));
    const elsewhere = start('fleet/replica.ts', ['calm']);
    await Promise.all([
      ask(calm, { engage: good }),
      ask(faulty, { engage: good, bad }),
      ask(elsewhere, { engage: [], bad }),
    ]);
  } else {
    await both({ engage: good });
  }
  // What is left of the start belongs to nobody's latency.
  await new Promise((resolve) => setTimeout(resolve, 2_000));

  const began = performance.now();
  let changes = 0;
  let restarted = false;
  while (performance.now() - began < seconds * 1_000) {
    const index = (changes * 7) % healthy;
    clusters[Math.floor(index / share)]?.send({ write: index % share, name: `change-${changes}` });
    changes += 1;
    if (!hostile && !restarted && performance.now() - began > seconds * 500) {
      restarted = true;
      faulty.send({ restartHub: true } satisfies Order);
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
    `${healthy} healthy clusters, ${changes} changes, none lost, with 20 that ${hostile ? 'send as much as is read' : 'are dead, and a hub that restarts'}:`,
  );
  for (const [part, name] of [
    [0.5, 'p50'],
    [0.99, 'p99'],
  ] as const) {
    const [ours, peers] = [quantile(Object.values(inFaulty), part), quantile(Object.values(inCalm), part)];
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
