import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './errno.ts';

/** Makes a folder for its owner alone, and those above it. Node's `recursive` never returns for a folder below /proc. */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
