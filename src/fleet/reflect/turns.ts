/**
 * Shares the event loop among clusters, since one thread works for all of them: parsing, and loops over many objects, take a few
 * milliseconds of each turn, however much there is. Clusters that have sent less go first. One per process, like the event loop.
 */

/** Milliseconds in one turn of the event loop, for light senders and for the rest. Work that has begun is finished. */
const lightMs = 8;
const heavyMs = 4;
/** Bytes that a cluster may send before others go first. The count halves every second. */
const lightBytes = 256 * 1024;
const halfLifeMs = 1_000;

interface Usage {
  bytes: number;
  at: number;
}

interface Work {
  readonly usage: Usage;
  run(): void;
}

const usages = new WeakMap<object, Usage>();
/** Work of light senders: first come, first served. */
const light: Work[] = [];
/** The rest: the cluster that has sent least goes first. */
const heavy: Work[] = [];
/** When light work began in this turn; `undefined` if it has not. */
let began: number | undefined;
let scheduled = false;

/**
 * Runs short, synchronous work now if this turn has time left, else in a later turn. `owner` is any object that identifies the
 * cluster, or what else the work is for; `bytes` is how much of its data the work parses, 0 if it parses none.
 */
export function inTurn<T>(owner: object, bytes: number, work: () => T): Promise<T> {
  const usage = usageOf(owner);
  const isLight = usage.bytes < lightBytes;
  const run = async () => {
    usage.bytes += bytes;
    return work();
  };
  if (isLight && light.length === 0 && timeIsLeft()) return run();
  const { promise, resolve } = Promise.withResolvers<T>();
  (isLight ? light : heavy).push({ usage, run: () => resolve(run()) });
  schedule();
  return promise;
}

/** Goes through entries, `atOnce` of them in one piece of work. */
export async function inTurns<E>(
  owner: object,
  entries: Iterable<E>,
  atOnce: number,
  each: (entry: E) => void,
): Promise<void> {
  const rest = entries[Symbol.iterator]();
  for (let next = rest.next(); !next.done; ) {
    await inTurn(owner, 0, () => {
      for (let i = 0; i < atOnce && !next.done; i++) {
        each(next.value);
        next = rest.next();
      }
    });
  }
}

function usageOf(owner: object): Usage {
  const now = performance.now();
  const usage = usages.get(owner) ?? { bytes: 0, at: now };
  usages.set(owner, usage);
  usage.bytes *= 0.5 ** ((now - usage.at) / halfLifeMs);
  usage.at = now;
  return usage;
}

function timeIsLeft(): boolean {
  const now = performance.now();
  if (began !== undefined) return now - began < lightMs;
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
  let done = 0;
  while (done < light.length && timeIsLeft()) light[done++]?.run();
  // At once: with each shift V8 moves all that are left, if these are many.
  light.splice(0, done);
  const heavyBegan = performance.now();
  while (heavy.length > 0 && performance.now() - heavyBegan < heavyMs) {
    const next = heavy.reduce((least, work) => (work.usage.bytes < least.usage.bytes ? work : least));
    heavy.splice(heavy.indexOf(next), 1);
    next.run();
  }
  if (light.length > 0 || heavy.length > 0) schedule();
}
