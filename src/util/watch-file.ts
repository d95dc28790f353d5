import { open } from 'node:fs/promises';
import { errnoOf } from './errno.ts';

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

/**
 * Accepts the content of a file after two identical reads with no write in between, so that a file is not used while it is being
 * written.
 */
export class SettledFile {
  readonly #path: string;
  #taken: Reading;
  #last: Look | undefined;

  /** `before` is the content that was accepted last. */
  constructor(path: string, before: string) {
    this.#path = path;
    this.#taken = { text: before };
  }

  /** Returns the content if it is stable and differs from what was accepted last. */
  async look(): Promise<Reading | undefined> {
    const now = await lookAt(this.#path);
    const last = this.#last;
    this.#last = now;
    if (last?.stamp !== now.stamp || !isSame(last.reading, now.reading)) return undefined;
    if (isSame(this.#taken, now.reading)) return undefined;
    this.#taken = now.reading;
    return now.reading;
  }
}

interface Look {
  readonly reading: Reading;
  /** Differs when the file has been written or replaced. */
  readonly stamp: string;
}

async function lookAt(path: string): Promise<Look> {
  try {
    const file = await open(path);
    try {
      const text = await file.readFile('utf8');
      const { dev, ino, size, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
      return { reading: { text }, stamp: [dev, ino, size, mtimeNs, ctimeNs].join() };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errnoOf(error);
    return { reading: { code }, stamp: '' };
  }
}

function isSame(one: Reading, other: Reading): boolean {
  return 'text' in one ? 'text' in other && one.text === other.text : 'code' in other && one.code === other.code;
}
