/**
 * The executable of a plugin's command, checked before every run: whether the policy allows it, where it is, whether another user could
 * put another program in its place, and whether it is the pinned one.
 */
import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, readlink, stat } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import type { PluginPolicy } from '../access/plugin-policy.ts';
import type { PluginError } from '../errors/index.ts';
import { redact } from '../redaction/known-secrets.ts';
import { errnoOf } from '../util/guards.ts';
import { inLogs, type Plugin, type PluginOptions } from './plugin-call.ts';
import { failure, isTransient } from './plugin-outcome.ts';
import { type Ended, type ProcessOptions, runProcess } from './process.ts';

/**
 * Runs the plugin's executable to its end. Rejects with a `PluginError` if it may not be run or does not exist, and if it was stopped.
 */
export async function runExecutable(
  plugin: Plugin,
  settings: ProcessOptions,
  options: Pick<PluginOptions, 'pluginPolicy' | 'strictPluginFiles' | 'warnings'>,
): Promise<Ended> {
  const { command } = plugin.exec;
  const { stop } = settings;
  stop.throwIfAborted();
  const searchPath = process.env.PATH ?? '';
  const permission = await permissionFor(options.pluginPolicy, command, searchPath);
  if ('refusal' in permission) throw failure(plugin, 'PLUGIN_NOT_ALLOWED', `may not be run: ${permission.refusal}`);
  const executable = await findExecutable(command, searchPath);
  if ('problem' in executable) throw cannotRun(plugin, executable.problem, executable.path);
  await checkFile(plugin, executable.path, options);
  const ended = permission.digests
    ? await runPinned(plugin, executable.path, permission.digests, settings)
    : await runProcess(executable.path, settings);
  stop.throwIfAborted();
  return ended;
}

async function runPinned(
  plugin: Plugin,
  path: string,
  digests: readonly string[],
  settings: ProcessOptions,
): Promise<Ended> {
  const refused = (why: string) => failure(plugin, 'PLUGIN_NOT_ALLOWED', why);
  const file = await openPinnedFile(path).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (isTransient(errno)) throw error;
    throw refused(`may not be run: ${path} cannot be read, so its SHA-256 cannot be compared (${errno})`);
  });
  try {
    const { handle, sha256 } = file;
    if (!digests.includes(sha256)) {
      const advice = 'if it was upgraded on purpose, pin the new one, beside the old one for a while';
      const pinned = `the plugin allowlist pins it to ${digests.join(' or ')}`;
      throw refused(`may not be run: the SHA-256 of ${path} is ${sha256}, and ${pinned}: ${advice}`);
    }
    // Only Linux executes open files.
    const descriptor = process.platform === 'linux' ? handle.fd : undefined;
    return await runProcess(path, { ...settings, descriptor });
  } finally {
    await file.handle.close();
  }
}

async function checkFile(
  plugin: Plugin,
  path: string,
  { strictPluginFiles, warnings }: Pick<PluginOptions, 'strictPluginFiles' | 'warnings'>,
): Promise<void> {
  const problem = await pluginFileProblem(path);
  const { fields, line } = inLogs(plugin);
  const file = { name: line(path), fields };
  const why = `can be replaced by another user: ${problem}`;
  if (problem && strictPluginFiles) {
    const advice = 'let only root and the user of this process write there, or mount it read-only';
    throw failure(plugin, 'PLUGIN_FILE_UNSAFE', `${why}; ${advice}`);
  }
  const message = line(`${why}; strictPluginFiles refuses it`);
  warnings.set(file, 'plugin file', problem ? [{ code: 'PLUGIN_FILE_UNSAFE', key: problem, message }] : []);
}

const executableAdvice = {
  'a directory': 'name a file',
  'not executable': 'make it executable (chmod +x) for the user of this process',
  'out of reach': 'let the user of this process enter its folders (chmod +x)',
};

function cannotRun(plugin: Plugin, problem: ExecutableProblem, path: string): PluginError {
  if (problem !== 'missing') {
    return failure(plugin, 'PLUGIN_NOT_EXECUTABLE', `${path} is ${problem}: ${executableAdvice[problem]}`);
  }
  const { command } = plugin.exec;
  const where = command.startsWith('~')
    ? '~ is not expanded: write the whole path'
    : command.includes('/')
      ? 'there is no such file'
      : 'it is in no folder of PATH';
  const installHint = redact(plugin.exec.installHint ?? '');
  const reason = `was not found (${where}): install it, or correct its command`;
  return failure(plugin, 'PLUGIN_NOT_FOUND', reason, { installHint });
}

/** Whether a command may be run, and as which file: `digests` are the SHA-256 that it may have, `undefined` any. */
type Permission = { readonly refusal: string } | { readonly digests: readonly string[] | undefined };

/** Applies the policy to a command (KEP-3104). As in client-go, the path that is found is compared. */
export async function permissionFor(
  { policyType, allowlist = [] }: PluginPolicy,
  command: string,
  searchPath: string,
): Promise<Permission> {
  if (policyType === 'AllowAll') return { digests: undefined };
  if (policyType === 'DenyAll')
    return { refusal: 'the plugin policy is DenyAll: allow it with pluginPolicy (--clusterprofile-plugin-policy)' };
  const refusal = `it is not in the plugin allowlist (${allowlist.map((entry) => entry.command).join(', ')})`;
  const isPath = command.includes('/');
  // A path that is relative to the working directory could be any file.
  if (isPath && !isAbsolute(command)) return { refusal };
  const locate = async (name: string) =>
    isAbsolute(name) ? normalize(name) : (await findExecutable(name, searchPath)).path;
  const path = await locate(command);
  const paths = await Promise.all(allowlist.map((entry) => locate(entry.command)));
  const entries = allowlist.filter((_, index) => paths[index] === path);
  if (entries.length === 0) return { refusal };
  const digests = entries.flatMap(({ sha256 }) => (sha256 === undefined ? [] : [sha256.toLowerCase()]));
  return { digests: digests.length === 0 ? undefined : digests };
}

/** Where a command's executable is, or why it cannot be run. */
type Executable = { readonly path: string } | { readonly problem: ExecutableProblem; readonly path: string };

type ExecutableProblem = 'missing' | 'not executable' | 'a directory' | 'out of reach';

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

const maxSymbolicLinks = 40;
const [groupWrite, othersWrite, sticky] = [0o020, 0o002, 0o1000];

/**
 * Returns what makes an executable unsafe, or `undefined`: only root and the user of this process may be able to write the file, the
 * folders above it and the symbolic links on the way. A read-only mount is safe with any mode: an `emptyDir` has the mode 777.
 * Each run checks again: no time stamp changes with a mode.
 *
 * Rejects with the operating system's error if one of them cannot be inspected.
 */
export async function pluginFileProblem(path: string): Promise<string | undefined> {
  const user = process.getuid?.();
  // Windows has no such modes.
  if (user === undefined) return undefined;
  const checked = new Set<string>();
  let current = resolve(path);
  for (let links = 0; links <= maxSymbolicLinks; links++) {
    let target: string | undefined;
    for (const part of fromRoot(current)) {
      if (checked.has(part)) continue;
      const stats = await lstat(part);
      const problem = problemOf(part, stats, user);
      if (problem !== undefined && !(await isReadOnly(stats.isSymbolicLink() ? dirname(part) : part))) return problem;
      if (stats.isSymbolicLink()) {
        target = join(resolve(dirname(part), await readlink(part)), current.slice(part.length));
        break;
      }
      checked.add(part);
    }
    if (target === undefined) return undefined;
    current = target;
  }
  return `${path} is behind too many symbolic links`;
}

/** Who else could write a file, a folder or a symbolic link, by its owner and mode. */
function problemOf(path: string, stats: Stats, user: number): string | undefined {
  const { uid, gid, mode } = stats;
  if (uid !== 0 && uid !== user) {
    return `${path} belongs to the user ${uid}, who is neither root nor the user of this process`;
  }
  // A symbolic link's mode means nothing. In a folder such as /tmp users cannot replace each other's files.
  if (stats.isSymbolicLink() || (stats.isDirectory() && (mode & sticky) !== 0)) return undefined;
  if ((mode & othersWrite) !== 0) return `${path} can be written by everybody`;
  return (mode & groupWrite) === 0 ? undefined : `${path} can be written by the group ${gid}`;
}

async function isReadOnly(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => false,
    (error: unknown) => errnoOf(error) === 'EROFS',
  );
}

/** `/`, `/a`, `/a/b` of `/a/b`. */
const fromRoot = (path: string): readonly string[] =>
  path === dirname(path) ? [path] : [...fromRoot(dirname(path)), path];

/**
 * Opens a plugin's file once, and hashes it: on Linux, the file that was hashed is the file that is executed, whatever is at its path by
 * then. Rejects with the operating system's error if the file cannot be read.
 */
export async function openPinnedFile(path: string): Promise<{ readonly handle: FileHandle; readonly sha256: string }> {
  // Non-blocking: to open a pipe would wait for its writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { handle, sha256: await digestOf(handle) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** By file and change time: a fleet of 200 clusters must not hash a plugin of 60 MB 200 times. */
const knownDigests = new Map<string, string>();
const maxKnownDigests = 100;
/** Milliseconds. A file that changed more recently may change again within one tick of the change time: its digest is not kept. */
const settledMs = 2_000;

/** SHA-256, in lower-case hexadecimal digits. */
async function digestOf(handle: FileHandle): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await handle.stat({ bigint: true });
  // Only root can set a change time back.
  const version = [dev, ino, size, mtimeNs, ctimeNs].join();
  const known = knownDigests.get(version);
  if (known !== undefined) return known;
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk);
  const sha256 = hash.digest('hex');
  if (Date.now() - Number(ctimeMs) > settledMs) {
    if (knownDigests.size >= maxKnownDigests) knownDigests.clear();
    knownDigests.set(version, sha256);
  }
  return sha256;
}
