// npm run test:e2e [-- --seed 7] [--only images|clusters]: what needs Go, and so stays out of npm test.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
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

const parts = { images, clusters };
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
