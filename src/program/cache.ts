/**
 * What `credential --cache` keeps on disk. Clients start the program for every command, so this is loaded before all else, and a
 * kept answer costs little more than the start of Node: no hub is asked, and no plugin runs.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { homeKubeconfig, makeFolder, statsOf } from '../diagnose/index.ts';
import { Failure } from './failure.ts';

/** A credential is not returned in the last milliseconds before its expiry: the client still has to use it. */
const leadMs = 60_000;

interface Entry {
  /** `namespace/name` of the ClusterProfile. */
  readonly profile: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** What is printed. */
  readonly answer: string;
}

/**
 * The answer that is kept for this call: `argv` is the path of the program, whose other names mean other things, and its arguments.
 * If there is none, or on a problem, the verb continues without it.
 */
export function keptAnswer(argv: readonly string[]): string | undefined {
  const given = new Set(argv.map((argument) => argument.replace(/=true$/, '')));
  if (!given.has('credential') || !given.has('--cache')) return undefined;
  if (['--forget', '--help', '-h'].some((option) => given.has(option))) return undefined;
  // A terminal is one. `isatty` would take as long to load as all of this.
  if (fstatSync(1).isCharacterDevice()) return undefined;
  try {
    const file = entryFile(argv);
    const entry = file === undefined ? undefined : readEntry(file);
    return isUsable(entry) ? entry.answer : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The file for the answer to this call; `undefined` if it names stdin or a pipe, whose content cannot be known. Call it before the environment
 * is changed. Throws a `Failure` if other users could read what is kept, and if the folder cannot be used.
 */
export function entryFile(argv: readonly string[]): string | undefined {
  const key = keyOf(argv);
  if (key === undefined) return undefined;
  return inCache((folder) => {
    makeFolder(folder);
    checkPrivate(folder, statSync(folder), '700');
    const file = join(folder, `${key}.json`);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats) checkPrivate(file, stats, '600');
    return file;
  });
}

/** Replaces the cached answer, and removes expired ones. */
export function keep(file: string, entry: Entry): void {
  const others = entryFiles(dirname(file), /\.json$/);
  for (const other of others) if (!isUsable(readEntry(other))) rmSync(other, { force: true });
  if (!isUsable(entry)) return;
  const written = `${file}.${randomUUID()}`;
  try {
    writeFileSync(written, JSON.stringify(entry), { mode: 0o600, flag: 'wx' });
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
}

/** Removes the cached answers for ClusterProfiles of that name (in all namespaces if none is given), or all. Returns the count. */
export function forget(asked: { readonly namespace: string | undefined; readonly name: string } | undefined): number {
  return inCache((folder) => {
    if (!statsOf(folder)) return 0;
    // Those that a killed process has not finished too.
    const found = entryFiles(folder, /\.json/).filter((file) => {
      if (asked === undefined) return true;
      const [namespace, name] = readEntry(file)?.profile.split('/') ?? [];
      return name === asked.name && (asked.namespace === undefined || namespace === asked.namespace);
    });
    for (const file of found) rmSync(file, { force: true });
    return found.length;
  });
}

/**
 * What can change the answer and is known without the hub: arguments, the files that they name, the client's request, and whose home it
 * is. A plugin that needs the working folder or another variable names it in its provider. The hub's kubeconfig counts only if its current
 * context decides which hub it is: kubens changes the file of a context that is named.
 */
function keyOf(argv: readonly string[]): string | undefined {
  const { HOME, KUBERNETES_EXEC_INFO, KUBECONFIG } = process.env;
  const names = (option: string) => argv.some((one) => one === option || one.startsWith(`${option}=`));
  const [namesFile, namesContext] = [names('--kubeconfig'), names('--context')];
  // Empty, it counts as not set.
  const read = KUBECONFIG ? KUBECONFIG.split(delimiter) : [homeKubeconfig() ?? []].flat();
  const kubeconfigs = namesFile || namesContext ? [] : read;
  // `--filename FILE`, `--filename=FILE`, `-fFILE`
  const named = argv.flatMap((argument, index) => {
    const isKubeconfig = /^--kubeconfig(?:=|$)/.test(argument) || argv[index - 1] === '--kubeconfig';
    if (isKubeconfig && namesContext) return [];
    return [argument, argument.slice(argument.indexOf('=') + 1), argument.slice(2)];
  });
  const files: unknown[] = [];
  // Its defaults may have led to the answer.
  for (const path of new Set([...named, ...kubeconfigs, configFile() ?? ''])) {
    const stats = statsOf(path);
    if (path === '-' || (stats && !stats.isFile() && !stats.isDirectory())) return undefined;
    if (stats?.isFile()) files.push([resolve(path), stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs]);
  }
  const input = JSON.stringify([argv, HOME, KUBERNETES_EXEC_INFO, namesFile ? '' : KUBECONFIG, files]);
  return createHash('sha256').update(input).digest('hex');
}

/** What is wrong with the folder is this machine's matter; this user may have no home. */
function inCache<T>(work: (folder: string) => T): T {
  try {
    return work(cacheFolder());
  } catch (error) {
    if (error instanceof Failure) throw error;
    const message = `the folder for --cache cannot be used (${error instanceof Error ? error.message : error})`;
    throw Failure.configuration(message, 'name another one in XDG_CACHE_HOME, or leave --cache out');
  }
}

function entryFiles(folder: string, names: RegExp): readonly string[] {
  return readdirSync(folder).flatMap((name) => (names.test(name) ? join(folder, name) : []));
}

/** Until when the credentials of ClusterProfiles are cached, by `namespace/name`: the longest of each. Nothing of them is secret. */
export function cachedUntil(): ReadonlyMap<string, number> {
  const until = new Map<string, number>();
  try {
    for (const file of entryFiles(cacheFolder(), /\.json$/)) {
      const entry = readEntry(file);
      if (isUsable(entry)) until.set(entry.profile, Math.max(entry.expiresAt, until.get(entry.profile) ?? 0));
    }
  } catch {
    // The folder does not exist or cannot be read, so nothing of it is used.
  }
  return until;
}

/** `undefined` if it is missing or broken. */
function readEntry(file: string): Entry | undefined {
  try {
    const { profile, expiresAt, answer }: Partial<Entry> = Object(JSON.parse(readFileSync(file, 'utf8')));
    const isWhole = typeof profile === 'string' && typeof expiresAt === 'number' && typeof answer === 'string';
    return isWhole ? { profile, expiresAt, answer } : undefined;
  } catch {
    return undefined;
  }
}

function isUsable(entry: Entry | undefined): entry is Entry {
  return entry !== undefined && entry.expiresAt - leadMs > Date.now();
}

function checkPrivate(path: string, { uid, mode }: Stats, wanted: string): void {
  const own = process.getuid?.();
  // Windows has neither: a user's folders are private there.
  if (own === undefined) return;
  if (uid !== own) {
    const message = `${path} belongs to user ${uid}, and credentials of user ${own} are to be kept there`;
    const how = `chown ${own} ${path} && chmod ${wanted} ${path}, or name another folder in XDG_CACHE_HOME`;
    throw Failure.configuration(message, how);
  }
  if ((mode & 0o077) === 0) return;
  const message = `${path} is open to other users (mode ${(mode & 0o777).toString(8)}), and credentials are kept there`;
  throw Failure.configuration(message, `chmod ${wanted} ${path}`);
}

/** `CLUSTERPROFILE_CONFIG`, else `clusterprofile.yaml` in the user's folder for configuration. */
export function configFile(): string | undefined {
  const { CLUSTERPROFILE_CONFIG: named, XDG_CONFIG_HOME: folder = '' } = process.env;
  if (named) return resolve(named);
  if (isAbsolute(folder)) return join(folder, 'clusterprofile.yaml');
  try {
    return join(homedir(), '.config', 'clusterprofile.yaml');
  } catch {
    // This user has no home.
    return undefined;
  }
}

/** The folder for what this program keeps between calls. Throws if this user has no home. */
function cacheFolder(): string {
  const { XDG_CACHE_HOME: given = '' } = process.env;
  return join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'clusterprofile');
}

/**
 * Keeps what V8 compiles of this program for the next start: clients start `credential` for every command. Node's own folder for it is
 * in /tmp, where another user could put code that this one would run. So it is in the user's cache folder, and only if nobody else
 * can write there. Otherwise, or if the disk is read-only, the program does without.
 */
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
