// npm run test:e2e: what needs Go or a real API server, and so stays out of npm test. --help says how to run a part of it.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { execa } from 'execa';
import { compareAccess } from './access.ts';
import { compareClientGo } from './client-go.ts';
import { compareDockerConfig } from './docker-config.ts';
import { compareDockerHelper } from './docker-helper.ts';
import { compareFake } from './fake.ts';
import {
  buildAccess,
  CannotBuild,
  defaultKubernetes,
  findPrograms,
  kubernetesVersions,
  upstreamFolder,
  upstreamVersions,
} from './go-programs.ts';
import { compareKeyring } from './keyring.ts';
import { compareKubeconfigs } from './kubeconfigs.ts';
import { compareMatchImage } from './match-image.ts';
import { compileMigration } from './migration.ts';
import { compareNoProxy } from './no-proxy.ts';
import { buildHelm, checkOthers, helm, helmVariable, installOthers, linkOthers, packages } from './others/programs.ts';
import { comparePatches } from './patches.ts';
import { buildProducers, producerPrograms, producersVariable } from './producers/programs.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const cases = 20_000;
/** What is told again at the end. */
const proved: string[] = [];
/** Test files that parts have asked for, and made ready. They run together, after all parts. */
const files: string[] = [];
/** What parts have made that does not stay. */
const cleanUps: (() => Promise<void>)[] = [];

/** The programs of the Kubernetes version that was asked for. */
const servers = () => findPrograms(console.log, values.kubernetes);

function tell(outcomes: ReadonlyMap<string, number>): void {
  for (const [outcome, count] of [...outcomes].toSorted(([, a], [, b]) => b - a)) {
    console.log(`  ${String(count).padStart(6)}  ${outcome}`);
  }
}

type Part = (seed: number) => Promise<void>;

/** Compares code of ours with Go code on so many generated cases. */
const compared =
  (compare: (count: number, seed: number) => Promise<ReadonlyMap<string, number>>, count: number, what: string): Part =>
  async (seed) => {
    console.log('building what it is compared with: half a minute the first time, seconds later');
    tell(await compare(count, seed));
    proved.push(`${count} ${what}`);
  };

const inTurn =
  (...parts: readonly Part[]): Part =>
  async (seed) => {
    for (const part of parts) await part(seed);
  };

async function migration(): Promise<void> {
  await compileMigration();
  proved.push('migration: the Go excerpt of docs/migration.md compiles with the Go library');
}

/** FakeCluster beside a real API server. */
async function fake(): Promise<void> {
  if (values.kubernetes !== undefined && values.kubernetes !== defaultKubernetes) {
    proved.push(`FakeCluster: nothing, since it is a model of Kubernetes ${defaultKubernetes}`);
    return;
  }
  tell(await compareFake(await servers()));
  proved.push('FakeCluster: the requests of its scenarios answered as kube-apiserver answers them');
}

/** Real API servers. */
async function clusters(): Promise<void> {
  const programs = await askFor((name) => !/^(?:upstream|fleet|shards|producers|program|others)-/.test(name));
  const versions = ['kube-apiserver', 'etcd'].map(async (name) => {
    const { stdout } = await execa(join(programs, name), ['--version'], { lines: true });
    return stdout[0];
  });
  proved.push(`clusters: ${(await Promise.all(versions)).join(', ')}`);
}

/** Real API servers, and the CRD and plugins of the Go library. */
async function upstream(seed: number): Promise<void> {
  for (const version of upstreamVersions) await upstreamFolder(version);
  await filesOf('upstream-')(seed);
}

/** Test files on real API servers, by the beginning of their names. */
const filesOf =
  (prefix: string): Part =>
  async () => {
    await askFor((name) => name.startsWith(prefix));
  };

/** Test files that run a program of test/e2e/access, which a variable names. */
const filesBeside =
  (prefix: string, program: string, variable: string): Part =>
  async (seed) => {
    const path = join(temporary, program);
    process.env[variable] = path;
    await buildAccess(`./${program}`, path);
    await filesOf(prefix)(seed);
  };

/** Plugins, registries and issuers of others, real where they can be built. */
async function producers(seed: number): Promise<void> {
  process.env[producersVariable] = await buildProducers(console.log);
  await filesOf('producers-')(seed);
  for (const { name, version } of producerPrograms)
    proved.push(`producers: ${name} ${version}, built from its Go module`);
}

/** Clients, operators and dashboards of others, with our configs and kubeconfigs. */
async function others(seed: number): Promise<void> {
  const installed = await installOthers(console.log);
  process.env[helmVariable] = await buildHelm(console.log);
  cleanUps.push(await linkOthers(installed));
  await checkOthers();
  await filesOf('others-')(seed);
  proved.push(`others: ${[...packages, ['helm', helm.version]].map((program) => program.join(' ')).join(', ')}`);
}

/** Returns the folder of the API server's programs. */
async function askFor(wanted: (name: string) => boolean): Promise<string> {
  const programs = await servers();
  process.env.CONTROL_PLANE_PROGRAMS = programs;
  const names = readdirSync(folder).filter((name) => name.endsWith('.e2e.ts') && wanted(name));
  files.push(...names.map((name) => join(folder, name)));
  return programs;
}

/** Three test files at once, each with up to four API servers: they wait for most of their time. What takes long begins first. */
async function runFiles(): Promise<void> {
  files.sort((one, other) => statSync(other).size - statSync(one).size);
  // A file that does not end, whatever its tests said, is a failure.
  const events = run({ files, concurrency: 3, timeout: 300_000, signal: AbortSignal.timeout(1_800_000) });
  events.on('test:fail', () => {
    process.exitCode = 1;
  });
  for await (const text of events.compose(spec)) process.stdout.write(String(text));
}

const parts: Readonly<Record<string, Part>> = {
  images: inTurn(
    compared(compareMatchImage, 30_000, "pairs for matchImage compared with the kubelet's own code"),
    compared(compareKeyring, cases, "images whose credentials were compared with the kubelet's own code"),
    compared(compareDockerConfig, cases / 2, 'Docker configs, in which crane and Docker find what their images have'),
    compared(compareDockerHelper, 60, "server URLs for the Docker helper, from docker-credential-helpers' own client"),
  ),
  access: inTurn(
    migration,
    compared(compareAccess, cases, 'cases of resolve compared with sigs.k8s.io/cluster-inventory-api v0.1.3'),
  ),
  exec: compared(compareClientGo, cases, 'kubeconfigs and plugin answers compared with client-go v0.36.3'),
  kubeconfigs: compared(compareKubeconfigs, cases / 4, 'sets of kubeconfigs compared with clientcmd v0.36.3'),
  proxies: compared(compareNoProxy, cases, 'servers with HTTPS_PROXY and NO_PROXY compared with httpproxy of Go'),
  fake: inTurn(
    compared(comparePatches, cases, "JSON and merge patches as the API server's own code applies them"),
    fake,
  ),
  clusters,
  fleet: filesBeside('fleet-', 'informer', 'E2E_INFORMER'),
  shards: filesBeside('shards-', 'leader', 'E2E_LEADER'),
  upstream,
  producers,
  program: filesOf('program-'),
  others,
};
const usage = `npm run test:e2e [-- --seed NUMBER] [--only ${Object.keys(parts).join('|')}]... [--kubernetes ${kubernetesVersions.join('|')}]

--kubernetes builds etcd, kube-apiserver and kubectl of this version, for the parts that start them. Default: ${defaultKubernetes}`;
const { values } = readArguments();
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const seed = Number(values.seed);
const unknown = values.only.filter((name) => !(name in parts));
if (unknown.length > 0) refuse(`there is no part ${unknown.join(', ')}`);
if (values.kubernetes !== undefined && !kubernetesVersions.includes(values.kubernetes)) {
  refuse(`--kubernetes ${values.kubernetes}: there are ${kubernetesVersions.join(', ')}`);
}
if (!Number.isSafeInteger(seed)) refuse(`--seed ${values.seed} is not a whole number`);

function readArguments() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string', default: String(Date.now() % 1e6) },
        only: { type: 'string', multiple: true, default: Object.keys(parts) },
        kubernetes: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(problem: string): never {
  console.error(`${problem}\n${usage}`);
  process.exit(2);
}

const temporary = mkdtempSync(join(tmpdir(), 'e2e-'));
// For test files.
process.env.E2E_SEED = String(seed);
const began = performance.now();
console.log(`seed ${seed}${values.kubernetes === undefined ? '' : `, Kubernetes ${values.kubernetes}`}`);
for (const name of new Set(values.only)) {
  console.log(styleText('bold', `\n${name}`));
  try {
    await parts[name]?.(seed);
  } catch (error) {
    const isLeftOut = error instanceof CannotBuild;
    console.log(isLeftOut ? `left out: ${error.message}` : error);
    proved.push(`${name}: nothing, it ${isLeftOut ? 'was left out' : 'failed'}`);
    if (!isLeftOut) process.exitCode = 1;
  }
}
if (files.length > 0) await runFiles();
for (const cleanUp of cleanUps) await cleanUp();
console.log(styleText('bold', `\nproved in ${Math.round((performance.now() - began) / 1_000)} s`));
for (const line of proved) console.log(`  ${line}`);
if (process.exitCode) console.log(`with failures: run again with --seed ${seed}`);
rmSync(temporary, { recursive: true });
