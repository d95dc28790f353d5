// npm run bench -- program [--profiles 5000] [--rounds 5]: whole processes of the program beside kubectl, on a real kube-apiserver.
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { stringify } from 'yaml';
import { writePlugin } from '../../src/testing/index.ts';
import { heading, median, report } from '../bench/report.ts';
import { programFile } from '../fixtures/program.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { CannotBuild, findPrograms } from './go-programs.ts';

/** GNU's, which knows the peak memory of a process that is not Node's. */
const gnuTime = '/usr/bin/time';

interface Run {
  /** Milliseconds; that of its children is counted in. */
  readonly cpu: number;
  readonly megabytes: number;
}

async function run(command: string, args: readonly string[]): Promise<Run> {
  const file = join(folder, 'used');
  const settings = { env: { HOME: folder, KUBECONFIG: kubeconfig }, stdout: { file: join(folder, 'out') } } as const;
  await execa(gnuTime, ['-f', '%U %S %M', '-o', file, command, ...args], settings);
  const [user = Number.NaN, system = Number.NaN, kilobytes = Number.NaN] = (await readFile(file, 'utf8'))
    .split(' ')
    .map(Number);
  return { cpu: (user + system) * 1_000, megabytes: kilobytes / 1024 };
}

/** Registers the CRD, and publishes profiles of one cluster. */
async function publishProfiles(plane: ControlPlane, count: number): Promise<void> {
  // They find kubectl by this variable, which is read when they are imported.
  process.env.CONTROL_PLANE_PROGRAMS = programs;
  const { publish, registerCrd } = await import('./crd.ts');
  const { accessBy, clusterOf } = await import('./fixture.ts');
  await registerCrd(plane);
  const status = accessBy('google', clusterOf(plane));
  let next = 0;
  const worker = async () => {
    while (next < count) await publish(plane, `spoke-${next++}`, status, { env: 'prod' });
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '5' },
  },
});
const programs = await findPrograms(console.log).catch((error: unknown) => {
  if (!(error instanceof CannotBuild)) throw error;
  console.error(`nothing can be measured: ${error.message}`);
  process.exit(1);
});
const kubectl = join(programs, 'kubectl');
const folder = await mkdtemp(join(tmpdir(), 'bench-program-'));
const kubeconfig = join(folder, 'hub');
const plane = await startControlPlane(programs, 'bench');
const plugin = await writePlugin({ token: 'bench-token' });
try {
  // As kubectl writes it; client-node writes JSON.
  await writeFile(kubeconfig, stringify(JSON.parse(plane.admin.exportConfig())));
  await publishProfiles(plane, Number(values.profiles));
  const flags = [`--clusterprofile-access-provider=google=${plugin.command}`];
  const merged = join(folder, 'merged');
  const own = (...args: readonly string[]) => [process.execPath, [programFile, ...args]] as const;
  const merge = own('kubeconfig', '--merge', merged, ...flags);
  // The hub's own file, with a context for each profile in it.
  const all = join(folder, 'all');
  await copyFile(kubeconfig, all);
  await run(...own('kubeconfig', '--merge', all, ...flags));
  const kinds = {
    'bare Node': [process.execPath, ['--eval', '']],
    'kubectl get clusterprofiles': [kubectl, ['get', 'clusterprofiles']],
    get: own('get'),
    'kubectl get clusterprofiles -o json': [kubectl, ['get', 'clusterprofiles', '-o', 'json']],
    'get -o json': own('get', '-o', 'json'),
    'kubectl get clusterprofiles spoke-1': [kubectl, ['get', 'clusterprofiles', 'spoke-1']],
    'credential spoke-1': own('credential', 'spoke-1', ...flags),
    'credential spoke-1, from a file with all contexts': own('credential', 'spoke-1', '--kubeconfig', all, ...flags),
    'kubectl get --raw /version, from that file': [kubectl, ['--kubeconfig', all, 'get', '--raw', '/version']],
    'kubeconfig, printed': own('kubeconfig', ...flags),
    'kubeconfig --merge, a new file': merge,
    'kubeconfig --merge, again': merge,
    'kubectl config view of that file': [kubectl, ['config', 'view', '--kubeconfig', merged]],
  } as const satisfies Readonly<Record<string, readonly [string, readonly string[]]>>;
  const runs = new Map<string, Run[]>();
  for (let round = 0; round < Number(values.rounds); round++) {
    await rm(merged, { force: true });
    for (const [name, [command, args]] of Object.entries(kinds)) {
      runs.set(name, [...(runs.get(name) ?? []), await run(command, args)]);
    }
  }
  heading(
    `${values.profiles} profiles; ${(await execa(kubectl, ['version', '--client'])).stdout.split('\n')[0]}; Node ${process.version}; ${cpus()[0]?.model}`,
  );
  for (const [name, all] of runs) {
    report(name, median(all.map(({ cpu }) => cpu)), 'ms of CPU');
    report(name, median(all.map(({ megabytes }) => megabytes)), 'MB at most');
  }
} finally {
  await plane.close();
  await plugin.remove();
  await rm(folder, { recursive: true, force: true });
}
