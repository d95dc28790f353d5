/**
 * Decides how many plugins run at once, and which of the waiting ones runs next; those that get the terminal do not come here, since
 * they run one after the other. It never shortens a run: each has the whole timeout that the operator set. It must not know what a
 * plugin is.
 */
import { availableParallelism } from 'node:os';

/** Plugins that run at once in this process, by default: they mostly wait for a network. */
export const defaultMaxConcurrentRuns = 4 * availableParallelism();

/** The history of one plugin input, shared by its runs. */
export interface RunHistory {
  lastRun?: 'succeeded' | 'failed';
}

/** A run that needs a place. */
export interface RunRequest {
  /** Identifies an instance: a `CredentialProviders`, a kubeconfig. When it aborts, the instance's queued runs reject with its reason. */
  readonly signal: AbortSignal;
  /** Plugins of this instance that may run at once. */
  readonly limit: number;
  readonly accessType: string;
  /** Of the plugin input that is run. */
  readonly history: RunHistory;
}

/**
 * Waits for a place among the plugins of this process, and runs `work` in it. No instance has more places than its limit, and all
 * together have no more than the largest limit.
 *
 * - The access types of all instances take turns.
 * - Within an access type, inputs whose last run succeeded come first, then new ones, then those whose last run failed.
 * - A quarter of an instance's places is kept for its access types that run nothing, and is not given to inputs whose last run failed.
 */
export async function withinRunLimit<T>(request: RunRequest, work: () => Promise<T>): Promise<T> {
  request.signal.throwIfAborted();
  const queue = instanceOf(request).queueOf(request.accessType);
  const priority: Priority = request.history.lastRun ?? 'new';
  await new Promise<void>((start, reject) => queue.add(priority, { start, reject }));
  try {
    const result = await work();
    request.history.lastRun = 'succeeded';
    return result;
  } catch (error) {
    request.history.lastRun = 'failed';
    throw error;
  } finally {
    queue.ended(priority);
  }
}

/** In their order. */
const priorities = ['succeeded', 'new', 'failed'] as const;
type Priority = (typeof priorities)[number];

interface Waiter {
  readonly start: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Plugins that run in this process. */
let running = 0;
/** Queues in which something waits, in the order of their turns. */
const turns = new Set<AccessTypeQueue>();
/** Instances in which something runs or waits. */
const active = new Set<Instance>();
const instances = new WeakMap<AbortSignal, Instance>();

function instanceOf({ signal, limit }: RunRequest): Instance {
  const known = instances.get(signal);
  if (known) return known;
  const instance = new Instance(limit);
  instances.set(signal, instance);
  signal.addEventListener('abort', () => instance.close(signal.reason), { once: true });
  return instance;
}

class Instance {
  readonly limit: number;
  readonly #queues = new Map<string, AccessTypeQueue>();
  running = 0;
  /** Those of them whose last run failed. */
  runningFailed = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  queueOf(accessType: string): AccessTypeQueue {
    const queue = this.#queues.get(accessType) ?? new AccessTypeQueue(this);
    this.#queues.set(accessType, queue);
    return queue;
  }

  close(reason: unknown): void {
    for (const queue of this.#queues.values()) queue.rejectAll(reason);
    this.updateActive();
    startNext();
  }

  updateActive(): void {
    if (this.running > 0 || [...this.#queues.values()].some((queue) => turns.has(queue))) active.add(this);
    else active.delete(this);
  }

  /** Whether a run may start while `free` places of the process are free. */
  hasPlace(queue: AccessTypeQueue, priority: Priority, free: number): boolean {
    const quarter = Math.ceil((this.limit - 1) / 4);
    if (priority === 'failed' && this.runningFailed >= this.limit - quarter) return false;
    const idle = [...this.#queues.values()].filter((one) => one !== queue && one.running === 0).length;
    const kept = queue.running === 0 ? 0 : Math.min(quarter, idle);
    return Math.min(free, this.limit - this.running) > kept;
  }
}

/** What waits of one access type of one instance. */
class AccessTypeQueue {
  readonly #instance: Instance;
  readonly #waiting: Readonly<Record<Priority, Waiter[]>> = { succeeded: [], new: [], failed: [] };
  running = 0;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  add(priority: Priority, waiter: Waiter): void {
    this.#waiting[priority].push(waiter);
    turns.add(this);
    this.#instance.updateActive();
    startNext();
  }

  rejectAll(reason: unknown): void {
    turns.delete(this);
    for (const waiting of Object.values(this.#waiting)) for (const { reject } of waiting.splice(0)) reject(reason);
  }

  /** Starts the next run if there is a place for it, and goes to the end of the turns. */
  startOne(free: number): boolean {
    const priority = priorities.find((one) => this.#waiting[one].length > 0);
    if (priority === undefined || !this.#instance.hasPlace(this, priority, free)) return false;
    const next = this.#waiting[priority].shift();
    turns.delete(this);
    if (Object.values(this.#waiting).some((waiting) => waiting.length > 0)) turns.add(this);
    this.#count(priority, 1);
    next?.start();
    return true;
  }

  ended(priority: Priority): void {
    this.#count(priority, -1);
    this.#instance.updateActive();
    startNext();
  }

  #count(priority: Priority, change: 1 | -1): void {
    running += change;
    this.running += change;
    this.#instance.running += change;
    if (priority === 'failed') this.#instance.runningFailed += change;
  }
}

function startNext(): void {
  while (startOne());
}

function startOne(): boolean {
  const places = Math.max(0, ...[...active].map(({ limit }) => limit));
  if (running >= places) return false;
  for (const queue of turns) if (queue.startOne(places - running)) return true;
  return false;
}
