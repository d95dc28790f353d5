import { availableParallelism } from 'node:os';

/** Plugins that run at once in this process, by default: they mostly wait for a network. */
export const defaultMaxConcurrentRuns = 4 * availableParallelism();

interface Waiter {
  readonly limit: number;
  readonly start: () => void;
}

/** Waiters by access type, so that a type with many of them cannot push the others to the end of the queue. */
const queues = new Map<string, Waiter[]>();
let running = 0;

/** Waits for a place among the plugins that run in this process, and runs `work` in it. */
export async function withinRunLimit<T>(limit: number, accessType: string, work: () => Promise<T>): Promise<T> {
  if (running < limit && queues.size === 0) running += 1;
  else await new Promise<void>((start) => enqueue(accessType, { limit, start }));
  try {
    return await work();
  } finally {
    running -= 1;
    startNext();
  }
}

function enqueue(accessType: string, waiter: Waiter): void {
  const queue = queues.get(accessType);
  if (queue) queue.push(waiter);
  else queues.set(accessType, [waiter]);
  // A caller with a higher limit may find a place where those before it did not.
  startNext();
}

/** Starts the first waiter of each access type in turn, while there are places. */
function startNext(): void {
  for (const [accessType, queue] of [...queues]) {
    const [next] = queue;
    if (!next || running >= next.limit) continue;
    queue.shift();
    queues.delete(accessType);
    // Back to the end of the round.
    if (queue.length > 0) queues.set(accessType, queue);
    running += 1;
    next.start();
  }
}
