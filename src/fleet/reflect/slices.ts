/**
 * Parsing in slices: however much arrives on however many connections, it takes a few milliseconds of each turn of the event
 * loop, and the rest waits for the next turn, in order. One for the process, since the event loop is one.
 */

/** Milliseconds of one turn of the event loop. A chunk that is begun is finished. */
const sliceMs = 8;

interface Waiting {
  run(): void;
}

const waiting: Waiting[] = [];
let head = 0;
/** When the slice of this turn began, or `undefined` where nothing has been done in it yet. */
let began: number | undefined;
let scheduled = false;

/** Does the work now where this turn has time for it, else in a later one. The work is short and never waits. */
export function inSlice<T>(work: () => T): T | Promise<T> {
  if (head === waiting.length && timeIsLeft()) return work();
  return new Promise<T>((resolve, reject) => {
    waiting.push({
      run: () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      },
    });
    schedule();
  });
}

function timeIsLeft(): boolean {
  const now = performance.now();
  if (began !== undefined) return now - began < sliceMs;
  began = now;
  schedule();
  return true;
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(nextTurn);
}

function nextTurn(): void {
  scheduled = false;
  began = undefined;
  while (head < waiting.length && timeIsLeft()) {
    waiting[head]?.run();
    head += 1;
  }
  if (head < waiting.length) {
    schedule();
    if (head < 1_024) return;
  }
  waiting.splice(0, head);
  head = 0;
}
