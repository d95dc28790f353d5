/** Watches a file, and takes its content when it is stable. */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { errnoOf } from './guards.ts';

/** Milliseconds between two reads of a file. If both are identical, the file has been stable for that long. */
const lookMs = 1_000;

/** The content of a file, or the operating system's code if it cannot be read. */
type Reading = { readonly text: string } | { readonly code: string };

/**
 * Calls `changed` with the content of a file whenever it has changed: edited in place, replaced by rename, or by a swapped symbolic
 * link, as in a ConfigMap's mount. Polls, which sees all of these on every file system; keeps no process alive. `before` is what the
 * caller has read. Returns the function that stops it.
 */
export function watchFile(path: string, before: string, changed: (reading: Reading) => void): () => void {
  const look = settledFile(path, before);
  let stopped = false;
  let timer: NodeJS.Timeout;
  const later = () => {
    timer = setTimeout(poll, lookMs).unref();
  };
  const poll = async () => {
    const reading = await look();
    if (stopped) return;
    later();
    if (reading) changed(reading);
  };
  later();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Each look returns the content if it is new, and was the same at the look before: a file is not used while it is being written. */
export function settledFile(path: string, before: string): () => Promise<Reading | undefined> {
  let accepted: Reading = { text: before };
  let last: Reading | undefined;
  return async () => {
    const now = await read(path);
    const isStable = isDeepStrictEqual(last, now);
    last = now;
    if (!isStable || isDeepStrictEqual(accepted, now)) return undefined;
    accepted = now;
    return now;
  };
}

async function read(path: string): Promise<Reading> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { code: errnoOf(error) };
  }
}
