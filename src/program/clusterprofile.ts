#!/usr/bin/env node
// The program `clusterprofile`, also `kubectl clusterprofile`. The check of Node's version comes before anything else is run.
import '../util/node-version.ts';
import { writeFileSync } from 'node:fs';
import { keptAnswer, useCompileCache } from './cache.ts';
import { exitCodes } from './failure.ts';

const kept = keptAnswer(process.argv.slice(1));
if (kept === undefined) {
  useCompileCache();
  const { main } = await import('./main.ts');
  await main();
} else writeAnswer(kept);

/** `process.stdout` would take as long to load as everything else here. */
function writeAnswer(text: string): void {
  try {
    writeFileSync(1, text);
  } catch {
    process.exit(exitCodes.brokenPipe);
  }
}
