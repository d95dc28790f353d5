/** Changes a shared file atomically, under a lock. */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errnoOf, makeFolder } from '../../diagnose/index.ts';
import { Failure } from '../failure.ts';

const lockPauseMs = 50;

/**
 * `update` gets the file's text, `undefined` if there is no file, and returns the new one. The file keeps its mode and its owner;
 * a new one is for its owner alone. If the path is a symbolic link, the file behind it is changed; a link that leads nowhere becomes the file. Locks as kubectl does, by a
 * file `PATH.lock`, which is waited for `lockMs` milliseconds. `update` is called before the lock is taken, and again under it only
 * if the file has changed in between. Rejects with a `Failure`, and with the signal's reason.
 */
export async function updateFile(
  path: string,
  signal: AbortSignal,
  update: (text: string | undefined) => string,
  { lockMs = 5_000 }: { readonly lockMs?: number } = {},
): Promise<void> {
  const asNamed = resolve(path);
  const file = asFailure(asNamed, () => {
    makeFolder(dirname(asNamed));
    return existsSync(asNamed) ? realpathSync(asNamed) : asNamed;
  });
  const early = updateEarly(file, update);
  const lock = `${asNamed}.lock`;
  await takeLock(lock, asNamed, signal, performance.now() + lockMs);
  try {
    // Nothing waits while it is held, so that no signal comes between.
    asFailure(asNamed, () => replace(file, update, early));
  } finally {
    rmSync(lock, { force: true });
  }
}

/** The file's text, and what becomes of it. */
interface Change {
  readonly before: string | undefined;
  readonly text: string;
}

/** Without the lock the text may be half of what kubectl is writing: what is wrong with it counts only under the lock. */
function updateEarly(file: string, update: (text: string | undefined) => string): Change | undefined {
  try {
    const { before } = read(file);
    return { before, text: update(before) };
  } catch {
    return undefined;
  }
}

function read(file: string): { readonly stats: Stats | undefined; readonly before: string | undefined } {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats && !stats.isFile()) throw Failure.configuration(`${file} is not a file`);
  return { stats, before: stats ? textOf(readFileSync(file), file) : undefined };
}

function replace(file: string, update: (text: string | undefined) => string, early: Change | undefined): void {
  const { stats, before } = read(file);
  const text = early && early.before === before ? early.text : update(before);
  if (text === before) return;
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      if (stats) keepOwnerAndMode(descriptor, stats);
      // It is on the disk before the rename: after a power failure the file is the one of before, or this one as a whole.
      writeFileSync(descriptor, text, { flush: true });
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Other bytes than those of UTF-8 could not be written back as they were. */
function textOf(bytes: Buffer, file: string): string {
  if (isUtf8(bytes)) return bytes.toString();
  throw Failure.configuration(`${file} is not UTF-8: convert it to UTF-8`);
}

/** Root may change files of others. Not by the path: in a folder of another user it may lead to another file by now. */
function keepOwnerAndMode(descriptor: number, { uid, gid, mode }: Stats): void {
  if (process.getuid?.() === 0) fchownSync(descriptor, uid, gid);
  fchmodSync(descriptor, mode & 0o777);
}

/** kubectl makes it in the same way, and gives up at once. */
async function takeLock(lock: string, file: string, signal: AbortSignal, until: number): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      return;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw Failure.configuration(`${lock} cannot be written (${errnoOf(error)})`);
    }
    if (performance.now() > until) {
      throw Failure.configuration(
        `${file} is being changed by another program, such as kubectl; if none runs, remove ${lock}`,
      );
    }
    await pause(lockPauseMs, undefined, { signal });
  }
}

/** Throws a `Failure` if the system refuses it. */
function asFailure<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Failure || !(error instanceof Error && 'code' in error)) throw error;
    throw Failure.configuration(`${path} cannot be changed (${errnoOf(error)})`);
  }
}
