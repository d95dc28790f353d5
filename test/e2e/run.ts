// npm run test:e2e [-- --seed 7] [--only images|access|clusters]: what needs Go, and so stays out of npm test.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { compareAccess } from './access.ts';
import { CannotBuild, findPrograms } from './control-plane.ts';
import { compareMatchImage } from './match-image.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1e6) },
    only: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});

/** matchImage beside the kubelet's own code. */
async function images(): Promise<void> {
  console.log("building the kubelet's credentialprovider: half a minute the first time, seconds later");
  const { compared, matched } = await compareMatchImage(30_000, Number(values.seed));
  console.log(`matchImage: ${compared} pairs compared with the kubelet's own code, ${matched} matches, no difference`);
}

/** resolve() beside the Go library. */
async function access(): Promise<void> {
  console.log('building the Go library of KEP-5339: half a minute the first time, seconds later');
  const count = 20_000;
  const outcomes = await compareAccess(count, Number(values.seed));
  console.log(
    `resolve: ${count} cases compared with sigs.k8s.io/cluster-inventory-api v0.1.3, every difference a rule:`,
  );
  for (const [outcome, cases] of [...outcomes].toSorted(([, a], [, b]) => b - a)) {
    console.log(`  ${String(cases).padStart(6)}  ${outcome}`);
  }
}

/** Real API servers. */
async function clusters(): Promise<void> {
  const programs = await findPrograms(console.log);
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith('.e2e.ts'));
  // One file after the other: each has up to four API servers.
  await execa(process.execPath, ['--test', '--test-concurrency=1', '--test-timeout=180000', ...files], {
    cwd: folder,
    env: { CONTROL_PLANE_PROGRAMS: programs },
    stdio: 'inherit',
  });
}

const parts = { images, access, clusters };
const chosen = Object.entries(parts).filter(([name]) => values.only === undefined || values.only === name);
if (values.help || chosen.length === 0) {
  console.log(`npm run test:e2e [-- --seed NUMBER] [--only ${Object.keys(parts).join('|')}]`);
  process.exit(values.help ? 0 : 2);
}
console.log(`seed ${values.seed}`);
try {
  for (const [, run] of chosen) await run();
} catch (error) {
  if (!(error instanceof CannotBuild)) throw error;
  console.log(`nothing more was compared: ${error.message}`);
}
