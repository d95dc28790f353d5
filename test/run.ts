/**
 * `npm test`: every test file, those of one folder in one process, since to start one and to import what they test takes longer
 * than most of them do. A few processes at once. `npm test -- rest exec` runs those of some folders.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';

/** More would take longer for the last process than they save. */
const filesOfAProcess = 9;

interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const { positionals: wanted } = parseArgs({ allowPositionals: true });

function findGroups(): readonly Group[] {
  const folders = Map.groupBy(globSync('test/**/*.test.ts', { cwd: root }).sort(), (file) => {
    const [, folder = ''] = /^test\/(\w[^/]*)\//.exec(relative('.', file)) ?? [];
    return folder;
  });
  const groups = [...folders].flatMap(([folder, files]) => {
    const count = Math.ceil(files.length / filesOfAProcess);
    return Array.from({ length: count }, (_, part) => ({
      name: (folder || 'test') + (count > 1 ? ` ${part + 1}/${count}` : ''),
      // In turns: neighbours in the alphabet are often alike, and take as long.
      files: files.filter((_, index) => index % count === part),
    }));
  });
  return groups
    .filter(
      ({ files }) => wanted.length === 0 || files.some((file) => wanted.includes(dirname(file).split('/')[1] ?? '')),
    )
    .sort((one, other) => other.files.length - one.files.length);
}

/** From Node's own summary, which may be in colour. */
const countTests = (output: string) => Number(/^ℹ tests (\d+)$/m.exec(stripVTControlCharacters(output))?.[1] ?? 0);

async function run({ name, files }: Group): Promise<{ readonly tests: number; readonly passed: boolean }> {
  const started = performance.now();
  const options = ['--expose-gc', '--import', './test/fixtures/strict.ts', '--test', '--test-isolation=none'];
  const child = spawn(process.execPath, [...options, '--test-timeout=60000', '--test-reporter=spec', ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1))),
  ]);
  const tests = countTests(output);
  // A run that found nothing has proved nothing.
  const passed = code === 0 && tests > 0;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${passed ? '✔' : '✖'} ${name}: ${files.length} files, ${tests} tests, ${seconds} s`);
  if (!passed) console.log(`${/^.{0,8}✖ failing tests:[\s\S]*/m.exec(output)?.[0] ?? output.slice(-8_000)}\n${errors}`);
  return { tests, passed };
}

const groups = findGroups();
if (groups.length === 0) throw new Error(`test/ has no folder ${wanted.join(', ')} with tests`);
const started = performance.now();
const waiting = groups.values();
let tests = 0;
let failed = 0;
await Promise.all(
  Array.from({ length: 2 * availableParallelism() }, async () => {
    for (const group of waiting) {
      const ended = await run(group);
      tests += ended.tests;
      if (!ended.passed) failed += 1;
    }
  }),
);
console.log(
  `${tests} tests in ${((performance.now() - started) / 1000).toFixed(0)} s, ${failed} of ${groups.length} groups failed`,
);
process.exitCode = failed > 0 ? 1 : 0;
