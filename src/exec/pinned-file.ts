/** A plugin's file, held open: what has been hashed is what is executed, whatever file is at its path meanwhile. */
import { createHash } from 'node:crypto';
import { type BigIntStats, constants, existsSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

/** Where the system lets an open file be executed. */
const executesOpenFiles = process.platform === 'linux' && existsSync('/proc/self/fd');

/** Bytes that are hashed in one go: nothing else happens meanwhile. */
const chunkBytes = 1024 * 1024;

export class PinnedFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #stats: BigIntStats;
  /** SHA-256, in lower-case hexadecimal digits. */
  readonly sha256: string;
  /** What has to be found at the path after the run too: the system, or an interpreter, opens the file by its path. */
  readonly #isReadAgain: boolean;

  private constructor(
    path: string,
    handle: FileHandle,
    stats: BigIntStats,
    { sha256, isScript }: { readonly sha256: string; readonly isScript: boolean },
  ) {
    this.#path = path;
    this.#handle = handle;
    this.#stats = stats;
    this.sha256 = sha256;
    this.#isReadAgain = isScript || !executesOpenFiles;
  }

  /** Opens and hashes it. Rejects with the operating system's error where it cannot be read. */
  static async open(path: string): Promise<PinnedFile> {
    // Not blocking: what is no file, a pipe for example, could be waited for without end.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat({ bigint: true });
      if (!stats.isFile()) throw Object.assign(new Error('it is no file'), { code: 'it is no file' });
      return new PinnedFile(path, handle, stats, await digest(handle, stats));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The descriptor of the file that has to be executed, where the system can do that. */
  get descriptor(): number | undefined {
    return executesOpenFiles ? this.#handle.fd : undefined;
  }

  /** Whether the file is still what was hashed. Looked at after the run: an answer of anything else is not used. */
  async isUnchanged(): Promise<boolean> {
    const seen = [await this.#handle.stat({ bigint: true })];
    if (this.#isReadAgain) seen.push(await stat(this.#path, { bigint: true }));
    return seen.every((stats) => identityOf(stats) === identityOf(this.#stats));
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

interface Digest {
  readonly sha256: string;
  readonly isScript: boolean;
}

const known = new Map<string, Digest>();
const mostKnown = 100;
/** Milliseconds. A file that changed more recently could change again without another change time: its digest is not kept. */
const settledMs = 2_000;

async function digest(handle: FileHandle, stats: BigIntStats): Promise<Digest> {
  const identity = identityOf(stats);
  const before = known.get(identity);
  if (before) return before;
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let start = '';
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position);
    if (bytesRead === 0) break;
    if (position === 0) start = buffer.toString('latin1', 0, Math.min(2, bytesRead));
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  const found = { sha256: hash.digest('hex'), isScript: start === '#!' };
  if (Date.now() - Number(stats.ctimeMs) > settledMs) {
    if (known.size >= mostKnown) known.clear();
    known.set(identity, found);
  }
  return found;
}

/** Differs for every other file, and after every change: only root can set a change time back. */
function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}
