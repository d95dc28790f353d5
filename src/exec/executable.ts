import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { errnoOf } from '../util/errno.ts';

/** Where a command's executable is, or why it cannot be run. */
export type Executable = { readonly path: string } | { readonly problem: ExecutableProblem; readonly path: string };

export type ExecutableProblem = 'missing' | 'not executable' | 'a directory' | 'out of reach';

/**
 * Finds an executable as client-go does: a bare name in the process's own `PATH` (never in the one configured for the
 * plugin, and never through an entry that is relative to the working directory), anything with a separator as a path. A folder
 * of `PATH` that this process may not enter is passed over.
 */
export async function findExecutable(command: string, searchPath: string): Promise<Executable> {
  if (command.includes('/')) return check(resolve(command));
  let found: Executable | undefined;
  for (const directory of searchPath.split(delimiter).filter(isAbsolute)) {
    const executable = await check(join(directory, command));
    if (!('problem' in executable)) return executable;
    if (executable.problem === 'not executable') found ??= executable;
  }
  return found ?? { path: command, problem: 'missing' };
}

async function check(path: string): Promise<Executable> {
  try {
    if ((await stat(path)).isDirectory()) return { path, problem: 'a directory' };
  } catch (error) {
    return { path, problem: errnoOf(error) === 'EACCES' ? 'out of reach' : 'missing' };
  }
  try {
    await access(path, constants.X_OK);
    return { path };
  } catch {
    return { path, problem: 'not executable' };
  }
}
