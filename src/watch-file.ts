import { open } from 'node:fs/promises';
import { errnoOf } from './errno.ts';

/** Milliseconds between looks at a file: what two of them find the same has been still for as long. */
const lookMs = 1_000;

/** What a file holds, or the operating system's code for why it cannot be read. */
export type Reading = { readonly text: string } | { readonly code: string };

/**
 * Hands over what a file holds each time that it has become something else: edited in place, replaced by rename, or by the
 * swap of a symbolic link above it, as a ConfigMap's mount does it. Looks instead of listening, which sees all of these on
 * every file system; keeps no process alive. `before` is what the caller has read. Gives a function that ends it.
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
 * A file of which nothing is taken that has not been still from one look to the next, and was not read with the same result
 * by both: a file that is being written is none.
 */
export class SettledFile {
  readonly #path: string;
  #taken: Reading;
  #last: Look | undefined;

  /** `before` is what has been taken of it already. */
  constructor(path: string, before: string) {
    this.#path = path;
    this.#taken = { text: before };
  }

  /** What it holds now, where that is settled and something else than what was taken last. */
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
