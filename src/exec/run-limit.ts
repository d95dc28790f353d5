import { availableParallelism } from 'node:os';

/** Plugins that run at once in this process, by default: they mostly wait for a network. */
export const defaultMaxConcurrentRuns = 4 * availableParallelism();

interface Waiter {
  readonly limit: number;
  readonly start: () => void;
}

/** Waiters by access type, so that a type with many of them cannot push the others to the end of the queue. */
const queues = new Map<string, Waiter[]>();
/** Runs under way of every access type that has ever run. */
const running = new Map<string, number>();
let total = 0;

/** Waits for a place among the plugins that run in this process, and runs `work` in it. */
export async function withinRunLimit<T>(limit: number, accessType: string, work: () => Promise<T>): Promise<T> {
  if (!running.has(accessType)) running.set(accessType, 0);
  await new Promise<void>((start) => {
    const queue = queues.get(accessType);
    if (queue) queue.push({ limit, start });
    else queues.set(accessType, [{ limit, start }]);
    startNext();
  });
  try {
    return await work();
  } finally {
    count(accessType, -1);
    startNext();
  }
}

function count(accessType: string, change: number): void {
  total += change;
  running.set(accessType, (running.get(accessType) ?? 0) + change);
}

/**
 * Whether an access type may start one more. Slow plugins of one type must not hold every place: as long as others run
 * nothing, a quarter of the places, and no more than one for each of them, is kept free for them.
 */
function hasPlace(accessType: string, limit: number): boolean {
  if (!running.get(accessType)) return total < limit;
  let idle = 0;
  for (const runs of running.values()) if (runs === 0) idle += 1;
  return total + Math.min(idle, Math.ceil((limit - 1) / 4)) < limit;
}

/** Starts waiters, an access type at a time in turn, while there are places. */
function startNext(): void {
  while (startOne());
}

function startOne(): boolean {
  for (const [accessType, queue] of queues) {
    const [next] = queue;
    if (!next || !hasPlace(accessType, next.limit)) continue;
    queue.shift();
    queues.delete(accessType);
    // Back to the end of the round.
    if (queue.length > 0) queues.set(accessType, queue);
    count(accessType, 1);
    next.start();
    return true;
  }
  return false;
}
