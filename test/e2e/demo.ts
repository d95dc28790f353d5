// npm run demo -- real: runs the commands of docs/walk-through.md on a hub and two spokes, whose API servers it starts.
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { execa } from 'execa';
import { type ControlPlane, freePort, startControlPlane } from './control-plane.ts';
import { CannotBuild, findPrograms } from './go-programs.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
/** Milliseconds that the commands of one step may take. */
const stepTimeoutMs = 180_000;
/** Milliseconds between two signs of life while something is built. */
const tickMs = 30_000;

const began = performance.now();
const seconds = () => `${Math.round((performance.now() - began) / 1_000)} s`;

interface Step {
  readonly title: string;
  /** The text before the commands. */
  readonly text: string;
  readonly commands: string;
}

/** The numbered chapters of the page. */
async function readSteps(): Promise<readonly Step[]> {
  const page = await readFile(join(checkout, 'docs/walk-through.md'), 'utf8');
  const chapters = page.matchAll(/^## (\d+\. .*)\n\n(?:((?:.+\n)+)\n)?```sh\n([\s\S]*?)^```$/gm);
  return [...chapters].map(([, title = '', text = '', commands = '']) => ({
    title,
    text: text.trimEnd(),
    commands,
  }));
}

/** A folder for PATH, with what npm would install. */
async function installPrograms(folder: string): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const { bin: programs } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'));
  for (const name of ['clusterprofile', 'kubeconfig-secretreader']) {
    await chmod(join(checkout, programs[name]), 0o755);
    await symlink(join(checkout, programs[name]), join(bin, name));
  }
  return bin;
}

/** One kubeconfig, with a context for each cluster. */
function kubeconfigOf(planes: readonly ControlPlane[]): string {
  const configs = planes.map(({ admin }) => JSON.parse(admin.exportConfig()));
  const parts = ['clusters', 'users', 'contexts'].map((part) => [part, configs.flatMap((config) => config[part])]);
  return JSON.stringify(Object.fromEntries(parts));
}

async function run({ title, text, commands }: Step, folder: string, env: Readonly<Record<string, string>>) {
  console.log(styleText('bold', `\n${title}`));
  // Links are for the page.
  if (text) console.log(styleText('dim', text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')));
  console.log(styleText('cyan', `\n${commands.replace(/^(?=.)/gm, '  ')}`));
  await execa('sh', ['-euc', commands], {
    cwd: folder,
    env,
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
    timeout: stepTimeoutMs,
  });
}

async function demo(folder: string): Promise<void> {
  const ticks = setInterval(() => console.log(`still at it after ${seconds()}`), tickMs);
  const programs = await findPrograms(console.log).finally(() => clearInterval(ticks));
  const names = ['hub', 'spoke-1', 'spoke-2'];
  console.log(`Starting ${names.join(', ')}: three API servers with etcd, from ${programs}.`);
  await using ends = new AsyncDisposableStack();
  const starts = names.map((name) => startControlPlane(programs, name));
  // If one of them fails, the others may become ready later.
  for (const start of starts)
    ends.defer(() =>
      start.then(
        (plane) => plane.close(),
        () => {},
      ),
    );
  const planes = await Promise.all(starts);
  const KUBECONFIG = join(folder, 'kubeconfig');
  await writeFile(KUBECONFIG, kubeconfigOf(planes), { mode: 0o600 });
  console.log(`They are ready after ${seconds()}. The commands are those of docs/walk-through.md.`);
  const PATH = [await installPrograms(folder), dirname(process.execPath), programs, process.env.PATH].join(delimiter);
  const env = { KUBECONFIG, PATH, CHECKOUT: checkout, PORT: String(await freePort()) };
  // Where a step has failed, the controller still runs.
  ends.defer(() => execa('sh', ['-c', 'kill -9 $(cat controller.pid)'], { cwd: folder, reject: false }).then(() => {}));
  for (const step of await readSteps()) await run(step, folder, env);
  console.log(`\nDone in ${seconds()}. docs/walk-through.md says how to type it yourself, with clusters of kind.`);
}

// Ctrl-C ends the commands of the step, and then the rest is put away. With `once`, execa's own handler would find itself alone, and
// end this process.
process.on('SIGINT', () => {});
const folder = await mkdtemp(join(tmpdir(), 'walk-through-'));
try {
  await demo(folder);
} catch (error) {
  process.exitCode = 1;
  if (error instanceof CannotBuild) {
    console.error(`npm run demo -- real needs kube-apiserver, etcd and kubectl. ${error.message}
Do one of these:
  set KUBEBUILDER_ASSETS to a folder that has all three: setup-envtest of controller-runtime downloads them
  install Go 1.26 or later: they are built once, which takes some minutes
  follow docs/walk-through.md with clusters of kind`);
  } else {
    console.error(`\n${error instanceof Error ? error.message : error}`);
    console.error(await readFile(join(folder, 'controller.log'), 'utf8').catch(() => ''));
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
