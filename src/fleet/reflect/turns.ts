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
  readonly bytes: number;
  run(): void;
}

const usages = new WeakMap<object, Usage>();
/** Work of light senders: first come, first served. */
let light: Work[] = [];
/** The rest: the cluster that has sent least goes first. */
const heavy: Work[] = [];
/** When light work began in this turn; `undefined` if it has not. */
let began: number | undefined;
let scheduled = false;

/**
 * Runs short, synchronous work now if this turn has time left, else in a later turn. `owner` is any object that identifies the
 * cluster, or what else the work is for; `bytes` is how much of its data the work parses, 0 if it parses none.
 */
export function inTurn<T>(owner: object, bytes: number, work: () => T): T | Promise<T> {
  const usage = usageOf(owner);
  const isLight = usage.bytes < lightBytes;
  if (isLight && light.length === 0 && timeIsLeft()) {
    usage.bytes += bytes;
    return work();
  }
  return new Promise<T>((resolve, reject) => {
    const run = () => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    };
    (isLight ? light : heavy).push({ usage, bytes, run });
    schedule();
  });
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
  for (const work of light) {
    if (!timeIsLeft()) break;
    perform(work);
    done += 1;
  }
  light = light.slice(done);
  const heavyBegan = performance.now();
  while (performance.now() - heavyBegan < heavyMs) {
    const work = nextHeavy();
    if (!work) break;
    heavy.splice(heavy.indexOf(work), 1);
    perform(work);
  }
  if (light.length > 0 || heavy.length > 0) schedule();
}

/** The work of the cluster that has sent least. */
function nextHeavy(): Work | undefined {
  let next: Work | undefined;
  for (const work of heavy) {
    if (!next || work.usage.bytes < next.usage.bytes) next = work;
  }
  return next;
}

function perform({ usage, bytes, run }: Work): void {
  usage.bytes += bytes;
  run();
}
