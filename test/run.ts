/**
 * `npm test`: every test file, many in one process, since to start one and to import what they test takes longer than most of them
 * do. Folders with few files share a process; those with many have several. A few processes at once. `npm test -- rest exec` runs
 * the files of some folders. With `--kind program` it is the files `*.program.test.ts`, which start whole programs again and again.
 * With `--kind load` it is the files `*.load.test.ts`, which send megabytes or thousands of requests, or hold thousands of objects.
 * Each kind takes as long as all of the other tests.
 */
import { globSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { execa } from 'execa';

interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
/** strict.ts turns it on too, but is TypeScript itself: each process would load what strips its types. */
const NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compiled');
const {
  positionals: wanted,
  values: { kind: wantedKinds },
} = parseArgs({ allowPositionals: true, options: { kind: { type: 'string', multiple: true, default: [''] } } });

/** With more, waiting for the last process costs more than fewer starts save. Files of the other kinds take longer. */
const filesOfAProcess = wantedKinds.includes('') ? 16 : 6;
const testTimeoutMs = wantedKinds.includes('') ? 60_000 : 180_000;

/** `load` of `http2.load.test.ts`; nothing of `http2.test.ts`. */
const kindOf = (file: string) => /\.([a-z]+)\.test\.ts$/.exec(file)?.[1] ?? '';

/** Groups whose tests take long, the longest last. They begin in reverse order, before all that are not named here. */
const longest = ['exec', 'others', 'fleet', 'rest', 'program'];

function findGroups(): readonly Group[] {
  const folderOf = (file: string) => dirname(file).split('/')[1] ?? 'test';
  const ofKind = globSync('test/**/*.test.ts', { cwd: root }).filter((file) => wantedKinds.includes(kindOf(file)));
  const folders = Map.groupBy(ofKind.sort(), folderOf);
  const missing = wanted.filter((folder) => !folders.has(folder));
  if (missing.length > 0 || ofKind.length === 0) {
    throw new Error(`test/ has no folder ${missing.join(', ')} with tests; npm run test:file runs single files`);
  }
  const files = ofKind.filter((file) => wanted.length === 0 || wanted.includes(folderOf(file)));
  const isLarge = (folder: string) => (folders.get(folder)?.length ?? 0) > filesOfAProcess / 2;
  const shared = Map.groupBy(files, (file) => (isLarge(folderOf(file)) ? folderOf(file) : 'others'));
  return [...shared]
    .toSorted(([one], [other]) => longest.indexOf(other) - longest.indexOf(one))
    .flatMap(([, files]) => {
      const count = Math.ceil(files.length / filesOfAProcess);
      const sorted = files.toSorted((one, other) => sizeOf(other) - sizeOf(one));
      // In turns, the largest before the others: each part has its share of what takes long.
      return Array.from({ length: count }, (_, part) => sorted.filter((_, index) => index % count === part));
    })
    .map((files) => ({ name: [...new Set(files.map(folderOf))].join(', '), files }));
}

const sizeOf = (file: string) => statSync(join(root, file)).size;

/** From Node's own summary, which may be in colour. */
const countTests = (output: string) => Number(/^ℹ tests (\d+)$/m.exec(stripVTControlCharacters(output))?.[1] ?? 0);

/** How much is shown of a group that failed without a list of failing tests. */
const shownCharacters = 8_000;

async function run({ name, files }: Group): Promise<{ readonly tests: number; readonly passed: boolean }> {
  const started = performance.now();
  const options = ['--expose-gc', '--import', './test/fixtures/strict.ts', '--test', '--test-isolation=none'];
  const { stdout, stderr, exitCode, signal } = await execa(
    process.execPath,
    [...options, `--test-timeout=${testTimeoutMs}`, '--test-reporter=spec', ...files],
    { cwd: root, env: { NODE_COMPILE_CACHE }, stdin: 'ignore', reject: false },
  );
  const tests = countTests(stdout);
  // A run that found nothing has proved nothing.
  const passed = exitCode === 0 && tests > 0;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const killed = signal === undefined ? '' : `, killed by ${signal}`;
  console.log(`${passed ? '✔' : '✖'} ${name}: ${files.length} files, ${tests} tests, ${seconds} s${killed}`);
  if (!passed) {
    const listed = /^.{0,8}✖ failing tests:[\s\S]*/m.exec(stdout)?.[0];
    // A process that was killed lists none, and the one at fault may be far from the end.
    const failing = listed ?? [...(stdout.match(/^.*✖.*$/gm) ?? []), stdout.slice(-shownCharacters)].join('\n');
    console.log(`${failing}\n${stderr.slice(-shownCharacters)}`);
  }
  return { tests, passed };
}

const groups = findGroups();
const started = performance.now();
const waiting = groups.values();
let tests = 0;
let failed = 0;
await Promise.all(
  Array.from({ length: 3 * availableParallelism() }, async () => {
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
