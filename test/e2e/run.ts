// npm run test:e2e: what needs Go or a real API server, and so stays out of npm test. --help says how to run a part of it.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
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
  CannotBuild,
  defaultKubernetes,
  findPrograms,
  goBuild,
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

/** The programs of the Kubernetes version that was asked for. */
const servers = () => findPrograms(console.log, values.kubernetes);

function tell(outcomes: ReadonlyMap<string, number>): void {
  for (const [outcome, count] of [...outcomes].toSorted(([, a], [, b]) => b - a)) {
    console.log(`  ${String(count).padStart(6)}  ${outcome}`);
  }
}

/** matchImage and the order of credentials beside the kubelet's own code; what is for Docker and crane beside theirs. */
async function images(seed: number): Promise<void> {
  console.log("building the kubelet's credentialprovider: half a minute the first time, seconds later");
  tell(await compareMatchImage(30_000, seed));
  tell(await compareKeyring(cases, seed));
  proved.push(
    "matchImage: 30000 pairs compared with the kubelet's own code, every difference in docs/image-credentials.md",
  );
  proved.push(
    `keyring: answers for ${cases} images compared with the kubelet's own code, every difference a rule there`,
  );
  console.log("building crane's keychain and Docker's libraries: half a minute the first time, seconds later");
  tell(await compareDockerConfig(cases / 2, seed));
  tell(await compareDockerHelper(60, seed));
  proved.push(`Docker config: ${cases / 2} of them, in which crane and Docker find what their images have`);
  proved.push("Docker helper: called by docker-credential-helpers' client beside a helper of theirs, 60 server URLs");
}

/** resolve() beside the Go library. */
async function access(seed: number): Promise<void> {
  console.log('building the Go library of KEP-5339: half a minute the first time, seconds later');
  await compileMigration();
  proved.push('migration: the Go excerpt of docs/migration.md compiles with the Go library');
  tell(await compareAccess(cases, seed));
  proved.push(
    `resolve: ${cases} cases compared with sigs.k8s.io/cluster-inventory-api v0.1.3, every difference in docs/differences.md`,
  );
}

/** The exec authenticator beside client-go's. */
async function exec(seed: number): Promise<void> {
  console.log('building client-go: half a minute the first time, seconds later');
  tell(await compareClientGo(cases, seed));
  proved.push(
    `exec: ${cases} kubeconfigs and plugin answers compared with client-go v0.36.3, every difference in docs/differences.md`,
  );
}

/** Which kubeconfigs count, and what they say together, beside clientcmd. */
async function kubeconfigs(seed: number): Promise<void> {
  console.log('building clientcmd: half a minute the first time, seconds later');
  tell(await compareKubeconfigs(cases / 4, seed));
  proved.push(
    `kubeconfigs: ${cases / 4} sets of files, variables and contexts compared with clientcmd v0.36.3, every difference in docs/differences.md`,
  );
}

/** The environment's proxies beside Go's reading of them. */
async function proxies(seed: number): Promise<void> {
  tell(await compareNoProxy(cases, seed));
  proved.push(`proxies: ${cases} servers with HTTPS_PROXY and NO_PROXY compared with golang.org/x/net/http/httpproxy`);
}

/** FakeCluster beside a real API server, and its patches beside the code that one patches with. */
async function fake(seed: number): Promise<void> {
  tell(await comparePatches(cases, seed));
  proved.push(
    `patches: ${cases} JSON, merge and strategic merge patches without lists as the API server's own code applies them`,
  );
  if (values.kubernetes !== undefined && values.kubernetes !== defaultKubernetes) {
    proved.push(`FakeCluster: nothing, since it is a model of Kubernetes ${defaultKubernetes}`);
    return;
  }
  tell(await compareFake(await servers()));
  proved.push('FakeCluster: the requests of its scenarios answered as kube-apiserver answers them');
}

/** Real API servers. */
async function clusters(): Promise<void> {
  const programs = await servers();
  await runFiles(programs, (name) => !/^(?:upstream|fleet|shards|producers|program|others)-/.test(name));
  const versions = ['kube-apiserver', 'etcd'].map(async (name) => {
    const { stdout } = await execa(join(programs, name), ['--version'], { lines: true });
    return stdout[0];
  });
  proved.push(`clusters: ${(await Promise.all(versions)).join(', ')}`);
}

/** Real API servers, and the CRD and plugins of the Go library. */
async function upstream(): Promise<void> {
  for (const version of upstreamVersions) await upstreamFolder(version);
  await runFiles(await servers(), (name) => name.startsWith('upstream-'));
}

/** The fleet on real API servers, and its reflector beside client-go's. */
async function fleet(seed: number): Promise<void> {
  const programs = await servers();
  process.env.E2E_SEED = String(seed);
  process.env.E2E_INFORMER = join(temporary, 'informer');
  await goBuild(join(folder, 'access'), './informer', process.env.E2E_INFORMER);
  await runFiles(programs, (name) => name.startsWith('fleet-'));
}

/** The program `clusterprofile` as an operator calls it. */
async function program(): Promise<void> {
  await runFiles(await servers(), (name) => name.startsWith('program-'));
}

/** Plugins, registries and issuers of others, real where they can be built. */
async function producers(): Promise<void> {
  process.env[producersVariable] = await buildProducers(console.log);
  await runFiles(await servers(), (name) => name.startsWith('producers-'));
  for (const { name, version } of producerPrograms)
    proved.push(`producers: ${name} ${version}, built from its Go module`);
}

/** Clients, operators and dashboards of others, with our configs and kubeconfigs. */
async function others(): Promise<void> {
  const installed = await installOthers(console.log);
  process.env[helmVariable] = await buildHelm(console.log);
  const unlink = await linkOthers(installed);
  try {
    await checkOthers();
    await runFiles(await servers(), (name) => name.startsWith('others-'));
  } finally {
    await unlink();
  }
  proved.push(`others: ${[...packages, ['helm', helm.version]].map((program) => program.join(' ')).join(', ')}`);
}

/** Leader election beside client-go's, and replicas that share a fleet, on real API servers. */
async function shards(seed: number): Promise<void> {
  const programs = await servers();
  process.env.E2E_SEED = String(seed);
  process.env.E2E_LEADER = join(temporary, 'leader');
  await goBuild(join(folder, 'access'), './leader', process.env.E2E_LEADER);
  await runFiles(programs, (name) => name.startsWith('shards-'));
}

/** Two test files at once, each with up to four API servers: they wait for most of their time. */
async function runFiles(programs: string, wanted: (name: string) => boolean): Promise<void> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.e2e.ts') && wanted(name));
  process.env.CONTROL_PLANE_PROGRAMS = programs;
  const files = names.map((name) => join(folder, name));
  // A file that does not end, whatever its tests said, is a failure.
  const events = run({ files, concurrency: 2, timeout: 300_000, signal: AbortSignal.timeout(900_000) });
  events.on('test:fail', () => {
    process.exitCode = 1;
  });
  for await (const text of events.compose(spec)) process.stdout.write(String(text));
}

const parts: Readonly<Record<string, (seed: number) => Promise<void>>> = {
  images,
  access,
  exec,
  kubeconfigs,
  proxies,
  fake,
  clusters,
  fleet,
  shards,
  upstream,
  producers,
  program,
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
const began = performance.now();
console.log(`seed ${seed}${values.kubernetes === undefined ? '' : `, Kubernetes ${values.kubernetes}`}`);
for (const name of values.only) {
  console.log(styleText('bold', `\n${name}`));
  try {
    await parts[name]?.(seed);
  } catch (error) {
    if (!(error instanceof CannotBuild)) throw error;
    console.log(`left out: ${error.message}`);
    proved.push(`${name}: nothing, it was left out`);
  }
}
console.log(styleText('bold', `\nproved in ${Math.round((performance.now() - began) / 1_000)} s`));
for (const line of proved) console.log(`  ${line}`);
if (process.exitCode) console.log(`with failures: run again with --seed ${seed}`);
rmSync(temporary, { recursive: true });
