/** Folders of this user. */
import { existsSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { errnoOf } from './guards.ts';

/** `~/.kube/config`; `undefined` if this user has no home: neither `HOME` nor an entry in the user database. */
export function homeKubeconfig(homeOf = homedir): string | undefined {
  try {
    return join(homeOf(), '.kube', 'config');
  } catch {
    return undefined;
  }
}

/** What is at the path; `undefined` if that cannot be told. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

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
