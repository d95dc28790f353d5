/** What a run of `others` needs: packages of npm that package.json pins, and helm. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { z } from 'zod';
import { cacheFolder, goInstall } from '../go-programs.ts';

/** A program that npm does not have. */
export const helm = { source: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' } as const;

/** Where test files find the folder of helm. */
export const helmVariable = 'E2E_HELM';

const folder = fileURLToPath(new URL('./programs/', import.meta.url));
const example = fileURLToPath(new URL('../../../examples/backstage/', import.meta.url));

/** The packages, with their versions. */
export const packages = Object.entries(
  z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies),
);

/** Checks the types of what the part runs: `npm run check` has no packages to check it with. */
export async function checkOthers(): Promise<void> {
  await execa('tsc', ['-p', folder], { preferLocal: true, localDir: folder, stdio: 'inherit' });
}

/** The folder where the packages are installed: once for each lock file, in the user's cache. */
export async function installOthers(say: (line: string) => void): Promise<string> {
  const lock = await readFile(join(folder, 'package-lock.json'));
  const cache = await cacheFolder(`others-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`);
  const installed = join(cache, 'installed');
  if (existsSync(installed)) return cache;
  say('installing packages of others from npm (500 MB, a minute or two the first time, then never again) ...');
  for (const file of ['package.json', 'package-lock.json']) await copyFile(join(folder, file), join(cache, file));
  await execa('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: cache });
  await writeFile(installed, '');
  return cache;
}

/** Lets the programs and examples/backstage find the packages, until the function is called: no other run may search them. */
export async function linkOthers(cache: string): Promise<() => Promise<void>> {
  const links = [folder, example].map((path) => join(path, 'node_modules'));
  const remove = async () => {
    for (const link of links) await rm(link, { force: true });
  };
  await remove();
  for (const link of links) await symlink(join(cache, 'node_modules'), link);
  return remove;
}

/** The folder of helm. Throws `CannotBuild` where Go or its modules are out of reach. */
export async function buildHelm(say: (line: string) => void): Promise<string> {
  const cache = await cacheFolder(`helm-${helm.version}`);
  if (existsSync(join(cache, 'helm'))) return cache;
  say(`building helm ${helm.version} (minutes the first time, then never again) ...`);
  await goInstall(`${helm.source}@${helm.version}`, cache);
  return cache;
}
