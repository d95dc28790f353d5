/**
 * npm run bench -- controllers [--only idle] [--rounds 3]: whole controllers beside controller-runtime's and beside a floor of plain
 * node:https, on an API server in Go that is never the bottleneck.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { writePlugin } from '../../../src/testing/index.ts';
import { CannotBuild, goBuild } from '../../e2e/go-programs.ts';
import { heading, median, report } from '../report.ts';

/** A program that says a line of JSON at a time. */
class Program implements AsyncDisposable {
  readonly #child;
  readonly #lines;

  constructor(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const options = { env, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit', buffer: false, reject: false } as const;
    this.#child = execa(file, args, options);
    this.#lines = this.#child.iterable()[Symbol.asyncIterator]();
  }

  /** The next line that has this field, of this value if one is given. */
  async said(field: string, value?: unknown): Promise<Readonly<Record<string, unknown>>> {
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 180_000);
    for (;;) {
      const next = await this.#lines.next();
      if (next.done)
        throw new Error(`a program of the bench has ended, or did not say ${field} ${value ?? ''} in 3 minutes`);
      const line = JSON.parse(String(next.value));
      if (!(field in line) || (value !== undefined && line[field] !== value)) continue;
      clearTimeout(late);
      return line;
    }
  }

  tell(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Seconds of CPU, and MB of resident memory, now and at most. */
  async usage(): Promise<{ readonly cpu: number; readonly rss: number; readonly peak: number }> {
    const read = (file: string) => readFile(`/proc/${this.#child.pid}/${file}`, 'utf8');
    const [stat, status] = await Promise.all([read('stat'), read('status')]);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
    return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, rss: megabytes('VmRSS'), peak: megabytes('VmHWM') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), 2_000);
    await this.#child;
    clearTimeout(killer);
  }
}

const peers = ['controller-runtime', 'controller-runtime, JSON', 'ours', 'floor'] as const;
type Peer = (typeof peers)[number];
type Figures = Readonly<Record<string, number>>;
interface Work {
  readonly apply?: boolean;
  readonly marks?: readonly number[];
}
/** Starts a peer on the servers of this part. */
type Start = (peer: Peer, work: Work) => Program;

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
const secondsSince = (began: number) => (performance.now() - began) / 1_000;

async function measureStart(peer: Peer, start: Start, server: Program): Promise<Figures> {
  const updates = 2_000;
  const began = performance.now();
  await using program = start(peer, { marks: [20_000] });
  await program.said('mark');
  const seconds = secondsSince(began);
  const { cpu } = await program.usage();
  await pause(5);
  const { peak, rss, cpu: before } = await program.usage();
  program.tell('count');
  await program.said('reconciles');
  server.tell(`update ${updates} 500`);
  await server.said('patches');
  await pause(0.2);
  const update = ((await program.usage()).cpu - before) / updates;
  program.tell('count');
  const { reconciles, late } = await program.said('reconciles');
  return {
    'time until all are reconciled (s)': seconds,
    'CPU until then (s)': cpu,
    'peak memory (MB)': peak,
    'memory 5 s later (MB)': rss,
    'CPU of an update (us)': update * 1e6,
    'from an update to its reconcile (ms)': Number(late),
    'updates that were reconciled': Number(reconciles),
  };
}

async function measureBeside(peer: Peer, start: Start): Promise<Figures> {
  const began = performance.now();
  await using program = start(peer, { marks: [20_010] });
  await program.said('first', 1);
  const small = secondsSince(began);
  const { cpu } = await program.usage();
  await program.said('mark');
  const all = secondsSince(began);
  return { 'first reconcile of the small cluster (s)': small, 'CPU until then (s)': cpu, 'all reconciled (s)': all };
}

async function measureApply(peer: Peer, start: Start): Promise<Figures> {
  const marks = [1, 5_000, 10_000, 20_000];
  await using program = start(peer, { apply: true, marks });
  const at: { readonly cpu: number; readonly ms: number }[] = [];
  for (const mark of marks) {
    await program.said('mark', mark);
    at.push({ ...(await program.usage()), ms: performance.now() });
  }
  const [first, cold, warm, last] = at;
  if (!first || !cold || !warm || !last) throw new Error('a mark is missing');
  return {
    'first 5,000 applies: rate (/s)': 4_999 / ((cold.ms - first.ms) / 1_000),
    'first 5,000 applies: CPU of one (us)': ((cold.cpu - first.cpu) * 1e6) / 4_999,
    'last 10,000 applies: rate (/s)': 10_000 / ((last.ms - warm.ms) / 1_000),
    'last 10,000 applies: CPU of one (us)': ((last.cpu - warm.cpu) * 1e6) / 10_000,
  };
}

async function measureIdle(peer: Peer, start: Start): Promise<Figures> {
  const began = performance.now();
  await using program = start(peer, { marks: [6_000] });
  await program.said('mark');
  const seconds = secondsSince(began);
  const { cpu: used } = await program.usage();
  // The connections of the start are closed after 90 s.
  await pause(110);
  const { cpu } = await program.usage();
  await pause(60);
  const after = await program.usage();
  return {
    'time until all are reconciled (s)': seconds,
    'CPU until then (s)': used,
    'CPU of an idle minute (s)': after.cpu - cpu,
    'memory when idle (MB)': after.rss,
    'peak memory (MB)': after.peak,
  };
}

/** By name: the clusters as COUNT:OBJECTS, and what is measured of each peer. */
const parts = {
  start: { title: '20 clusters of 1,000 objects', sizes: ['20:1000'], measure: measureStart },
  beside: { title: 'a cluster of 10 objects beside one of 20,000', sizes: ['1:20000', '1:10'], measure: measureBeside },
  apply: { title: 'a server-side apply in each reconcile', sizes: ['20:1000'], measure: measureApply },
  idle: { title: '300 clusters of 20 objects', sizes: ['300:20'], measure: measureIdle },
} as const;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: Object.keys(parts) },
    peer: { type: 'string', multiple: true, default: [...peers] },
    rounds: { type: 'string', default: '3' },
    /** Options of Node for ours and the floor: as the manifests of examples/deploy have them. */
    node: { type: 'string', multiple: true, default: ['--max-semi-space-size=4'] },
  },
});
const folder = await mkdtemp(join(tmpdir(), 'bench-controllers-'));
const goProgram = join(folder, 'controllers');
const script = fileURLToPath(new URL('./controller-process.mjs', import.meta.url));
await using plugin = await writePlugin({ token: 'bench-token' });
try {
  await goBuild(fileURLToPath(new URL('../../e2e/controllers/', import.meta.url)), '.', goProgram);
  for (const [name, { title, sizes, measure }] of Object.entries(parts)) {
    if (!values.only.includes(name)) continue;
    await using server = new Program(goProgram, ['serve', ...sizes]);
    const addresses = await server.said('hub');
    const start: Start = (peer, work) => {
      const isGo = peer.startsWith('controller-runtime');
      const settings = { ...addresses, command: plugin.command, concurrency: 16, apply: false, marks: [], ...work };
      const more = { floor: peer === 'floor', protobuf: peer === 'controller-runtime' };
      const given = JSON.stringify({ ...settings, ...more });
      return isGo
        ? new Program(goProgram, ['run', given])
        : new Program(process.execPath, [...values.node, script, given]);
    };
    heading(title);
    const rounds = new Map<Peer, Figures[]>();
    const taking = peers.filter((peer) => values.peer.includes(peer));
    const one = async (peer: Peer) =>
      rounds.set(peer, [...(rounds.get(peer) ?? []), await measure(peer, start, server)]);
    // What is idle disturbs nobody.
    if (name === 'idle') await Promise.all(taking.map(one));
    else for (let round = 0; round < Number(values.rounds); round++) for (const peer of taking) await one(peer);
    const [against = 'ours'] = taking;
    for (const what of Object.keys(rounds.get(against)?.[0] ?? {})) {
      const of = (peer: Peer) => (rounds.get(peer) ?? []).map((figures) => figures[what] ?? Number.NaN);
      for (const peer of taking) {
        const ratio = median(of(peer).map((value, round) => value / (of(against)[round] ?? Number.NaN)));
        report(`${peer}: ${what}`, median(of(peer)), '', { ratio, peer: against });
      }
    }
  }
} catch (error) {
  if (!(error instanceof CannotBuild)) throw error;
  console.error(`nothing can be measured: ${error.message}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
