// What each dependency costs. Sizes in KiB: of what npm installs, with what comes along. Times in ms: to import it, beside a Node that
// imports nothing, the least of five.
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { root } from '../fixtures/docs.ts';

const rounds = 5;
const read = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const manifest = read(root);

/** The folders of a package and of all that it depends on. */
function foldersOf(name: string, seen = new Set<string>()): ReadonlySet<string> {
  const folder = join(root, 'node_modules', name);
  if (seen.has(folder)) return seen;
  seen.add(folder);
  for (const other of Object.keys(read(folder).dependencies ?? {})) foldersOf(other, seen);
  return seen;
}

function installedBytes(name: string): number {
  const files = [...foldersOf(name)].flatMap((cwd) => globSync('**/*', { cwd }).map((file) => join(cwd, file)));
  return files.reduce((sum, file) => sum + (statSync(file).isFile() ? statSync(file).size : 0), 0);
}

/** The least time of a process that imports something, or nothing. In turns, so that a busy moment is everybody's. */
async function leastTimes(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const least = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const code = name === '' ? '' : `await import(${JSON.stringify(name)})`;
      const started = performance.now();
      await execa(process.execPath, ['--input-type=module', '-e', code], { cwd: root });
      least.set(name, Math.min(least.get(name) ?? Number.POSITIVE_INFINITY, performance.now() - started));
    }
  }
  return least;
}

const installed = Object.keys(manifest.dependencies);
const times = await leastTimes(['', ...installed, manifest.name]);
const bare = times.get('') ?? 0;
const kib = (bytes: number) => (bytes / 1024).toFixed(0).padStart(8);
const row = (name: string, bytes: number) =>
  console.log(`${name.padEnd(28)}${kib(bytes)} KiB${((times.get(name) ?? 0) - bare).toFixed(0).padStart(7)} ms`);
console.log(`installed beside the package (bare Node: ${bare.toFixed(0)} ms)`);
for (const name of installed) row(name, installedBytes(name));
console.log('all of it');
row(
  manifest.name,
  globSync('dist/**/*', { cwd: root }).reduce((sum, file) => sum + statSync(join(root, file)).size, 0),
);
