/** A plugin's file that is pinned by a digest: the file that was hashed is the one that is executed. */
import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/** A plugin's file that is opened once: on Linux, the file that was hashed is the file that is executed, whatever is at its path by then. */
interface PinnedFile {
  /** SHA-256, in lower-case hexadecimal digits. */
  readonly sha256: string;
  /** The descriptor to execute, on systems that can execute an open file. */
  readonly descriptor: number | undefined;
  close(): Promise<void>;
}

/** Opens and hashes a file. Rejects with the operating system's error if the file cannot be read. */
export async function openPinnedFile(path: string): Promise<PinnedFile> {
  // Non-blocking: to open a pipe would wait for its writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat({ bigint: true });
    const sha256 = await digestOf(handle, stats);
    const descriptor = process.platform === 'linux' ? handle.fd : undefined;
    return { sha256, descriptor, close: () => handle.close() };
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

async function digestOf(
  handle: FileHandle,
  { dev, ino, size, mtimeNs, ctimeNs, ctimeMs }: BigIntStats,
): Promise<string> {
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
