import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { errnoOf } from './guards.ts';

/** Milliseconds between two reads of a file. If both are identical, the file has been stable for that long. */
const lookMs = 1_000;

/** The content of a file, or the operating system's code if it cannot be read. */
export type Reading = { readonly text: string } | { readonly code: string };

/**
 * Calls `changed` with the content of a file whenever it has changed: edited in place, replaced by rename, or by a swapped symbolic
 * link, as in a ConfigMap's mount. Polls, which sees all of these on every file system; keeps no process alive. `before` is what the
 * caller has read. Returns the function that stops it.
 */
export function watchFile(path: string, before: string, changed: (reading: Reading) => void): () => void {
  const file = new SettledFile(path, before);
  let stopped = false;
  let timer: NodeJS.Timeout;
  const later = () => {
    timer = setTimeout(look, lookMs).unref();
  };
  const look = async () => {
    const reading = await file.look();
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

/** Accepts the content of a file after two identical reads, so that a file is not used while it is being written. */
export class SettledFile {
  readonly #path: string;
  #accepted: Reading;
  #last: Reading | undefined;

  /** `before` is the content that was accepted last. */
  constructor(path: string, before: string) {
    this.#path = path;
    this.#accepted = { text: before };
  }

  /** Returns the content if it is stable and differs from what was accepted last. */
  async look(): Promise<Reading | undefined> {
    const now = await read(this.#path);
    const isStable = isDeepStrictEqual(this.#last, now);
    this.#last = now;
    if (!isStable || isDeepStrictEqual(this.#accepted, now)) return undefined;
    this.#accepted = now;
    return now;
  }
}

async function read(path: string): Promise<Reading> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { code: errnoOf(error) };
  }
}
