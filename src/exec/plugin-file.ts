/** Whether somebody else could put another program in a plugin's place. */
import { lstat, readFile, readlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errnoOf } from '../errno.ts';
import { isPassing } from './start-problem.ts';

const longestChain = 40;
const [groupWrite, othersWrite, sticky] = [0o020, 0o002, 0o1000];

/**
 * What makes an executable unsafe, or `undefined`: the file, every folder above it and every symbolic link on the way have
 * to be writable for nobody but root and the process's user. What lies on a read-only file system is safe whatever its mode.
 * Looked at before each run: a mode that changes changes no time stamp that a cache could go by.
 * Rejects where this machine is in trouble, which says nothing of the file.
 */
export async function pluginFileProblem(path: string): Promise<string | undefined> {
  try {
    return await findProblem(path);
  } catch (error) {
    if (isPassing(errnoOf(error))) throw error;
    return 'its folders cannot be looked at';
  }
}

async function findProblem(path: string): Promise<string | undefined> {
  const user = process.getuid?.();
  // There are no such modes on Windows.
  if (user === undefined) return undefined;
  // Where the system does not tell of mounts, none is known to be read-only.
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch((error: unknown) => {
    if (isPassing(errnoOf(error))) throw error;
    return '';
  });
  const isReadOnly = readOnlyMounts(mounts);
  const checked = new Set<string>();
  let current = resolve(path);
  for (let links = 0; links <= longestChain; links++) {
    let target: string | undefined;
    for (const part of fromRoot(current)) {
      const stats = await lstat(part);
      if (stats.isSymbolicLink()) {
        if (!isReadOnly(part) && stats.uid !== 0 && stats.uid !== user) return ownedBy(part, stats.uid);
        target = join(resolve(dirname(part), await readlink(part)), current.slice(part.length));
        break;
      }
      if (checked.has(part)) continue;
      checked.add(part);
      if (isReadOnly(part)) continue;
      if (stats.uid !== 0 && stats.uid !== user) return ownedBy(part, stats.uid);
      // In a folder such as /tmp nobody can replace what belongs to somebody else.
      const shared = stats.isDirectory() && (stats.mode & sticky) !== 0;
      if (!shared && (stats.mode & othersWrite) !== 0) return `${part} can be written by everybody`;
      if (!shared && (stats.mode & groupWrite) !== 0) return `${part} can be written by the group ${stats.gid}`;
    }
    if (target === undefined) return undefined;
    current = target;
  }
  return `${path} is behind too many symbolic links`;
}

function ownedBy(path: string, user: number): string {
  return `${path} belongs to the user ${user}, who is neither root nor the user of this process`;
}

/** `/`, `/a`, `/a/b` of `/a/b`. */
function fromRoot(path: string): readonly string[] {
  const parts: string[] = [];
  for (let part = path; ; part = dirname(part)) {
    parts.unshift(part);
    if (part === dirname(part)) return parts;
  }
}

/** Reads `/proc/self/mountinfo`, in which later mounts lie above earlier ones, into a test of paths. */
export function readOnlyMounts(mountinfo: string): (path: string) => boolean {
  const mounts = mountinfo
    .trim()
    .split('\n')
    .map((line) => {
      const [, , , , point = '', options = ''] = line.split(' ');
      const toCharacter = (_: string, octal: string) => String.fromCharCode(Number.parseInt(octal, 8));
      return { point: point.replace(/\\([0-7]{3})/g, toCharacter), readOnly: options.split(',').includes('ro') };
    });
  return (path) => {
    let found: (typeof mounts)[number] | undefined;
    for (const mount of mounts) {
      const within = mount.point === '/' || path === mount.point || path.startsWith(`${mount.point}/`);
      if (within && (!found || mount.point.length >= found.point.length)) found = mount;
    }
    return found?.readOnly ?? false;
  };
}
