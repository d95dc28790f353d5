/**
 * Keeps what V8 compiles of this program for the next start: clients start `credential` for every command. Node's own folder for it is
 * in /tmp, where another user could put code that this one would run. So it is in the user's cache folder, and only where nobody
 * else can write. Where that is not so, or the disk is read-only, the program does without.
 */
import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { cacheFolder } from './cache-folder.ts';

export function useCompileCache(): void {
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE } = process.env;
  if (NODE_COMPILE_CACHE || NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const folder = cacheFolder();
    const compiled = join(folder, 'compiled');
    // An import would load it for kept credentials too.
    const { enableCompileCache } = process.getBuiltinModule('node:module');
    if (!isAbsolute(folder) || ![dirname(folder), folder, compiled].every(makeOwn)) return;
    // Without symbolic links, which could lead elsewhere by the time Node reads it.
    const path = realpathSync(compiled);
    if (isOwn(path) && cannotBeReplaced(path)) enableCompileCache(path);
  } catch {
    // It only saves time.
  }
}

/** Creates a missing folder, but no home, and nothing in a folder of another user, such as `sudo` may find there. */
function makeOwn(path: string): boolean {
  if (!existsSync(path)) {
    if (!isOwn(dirname(path))) return false;
    mkdirSync(path, { mode: 0o700 });
  }
  return isOwn(path);
}

function isOwn(path: string): boolean {
  const { uid, mode } = statSync(path);
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

/**
 * Whether no other user, but root, can rename a folder above; in one such as /tmp they cannot rename each other's. The rule is that of
 * plugins (`pluginFileProblem`), without its code, which would be compiled at each start.
 */
function cannotBeReplaced(path: string): boolean {
  const parent = dirname(path);
  if (parent === path) return true;
  const { uid, mode } = statSync(parent);
  const isTrusted = uid === 0 || uid === process.getuid?.();
  return isTrusted && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0) && cannotBeReplaced(parent);
}
