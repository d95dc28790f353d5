/**
 * How many plugins run at once, and whose turn it is. Many plugins of one caller, or plugins that hang, must not make the others
 * wait for ever. It must not know what a plugin is. It knows one error: the one that says that a plugin was killed at its timeout.
 */
import { availableParallelism } from 'node:os';
import { PluginError } from '../errors.ts';
import type { Kind, RunHistory } from './run-history.ts';

/** Plugins that run at once in this process, by default: they mostly wait for a network. */
export const defaultMaxConcurrentRuns = 4 * availableParallelism();

/** A run that wants a place. */
export interface RunRequest {
  /** One for each instance, which has a limit. Aborted when the instance is closed: what waits rejects with the reason. */
  readonly signal: AbortSignal;
  /** Plugins of this instance that may run at once. */
  readonly limit: number;
  readonly accessType: string;
  /** Of the plugin input that is run. */
  readonly history: RunHistory;
  readonly timeoutMs: number;
  /** The time in milliseconds, for tests. The one of an instance's first request is used. */
  readonly now?: () => number;
}

/**
 * Waits for a place among the plugins of this process, and runs `work` in it, with the milliseconds that it may take. No instance
 * has more places than its limit, and all together have no more than the largest limit.
 *
 * The access types of all instances take turns. Within an access type, inputs that have used little time and need little come
 * first, then new inputs, then those that are slow or hang. An input that has waited long enough comes before all that ask later.
 * So an honest input waits two timeouts at most, even beside sixteen others for each place.
 */
export async function withinRunLimit<T>(request: RunRequest, work: (timeoutMs: number) => Promise<T>): Promise<T> {
  request.signal.throwIfAborted();
  const lane = instanceOf(request).lane(request.accessType);
  const run = await new Promise<Run>((start, stop) => lane.wait(request, { start, stop }));
  let hung = false;
  try {
    return await work(run.timeoutMs);
  } catch (error) {
    hung = error instanceof PluginError && error.code === 'PLUGIN_TIMEOUT';
    throw error;
  } finally {
    lane.end(run, hung);
  }
}

interface Waiter extends RunRequest {
  readonly kind: Kind;
  readonly dueAt: number;
  readonly start: (run: Run) => void;
  readonly stop: (reason: unknown) => void;
}

/** One that is under way. */
interface Run extends Pick<Waiter, 'kind' | 'history'> {
  readonly beganAt: number;
  /** What it may take, of the whole. */
  readonly timeoutMs: number;
  readonly wholeTimeoutMs: number;
}

/** Plugins that run in this process, and those of them that are slow. */
const inAll = { running: 0, slow: 0 };
/** Lanes with somebody in them, in the order of their turns. */
const turns = new Set<Lane>();
/** Those who run something, or wait for it: the largest of their limits counts. */
const busy = new Set<Instance>();
/** Weak: an instance that was never closed keeps no place free once it has been collected. */
const known = new Set<WeakRef<Instance>>();
const bySignal = new WeakMap<AbortSignal, Instance>();

function instanceOf({ signal, limit, now }: RunRequest): Instance {
  const instance = bySignal.get(signal) ?? new Instance(limit, now ?? (() => performance.now()));
  if (bySignal.has(signal)) return instance;
  bySignal.set(signal, instance);
  const reference = new WeakRef(instance);
  known.add(reference);
  const close = () => {
    known.delete(reference);
    instance.stop(signal.reason);
    startNext();
  };
  signal.addEventListener('abort', close, { once: true });
  return instance;
}

/** What has one limit: a `CredentialProviders`, a kubeconfig. */
class Instance {
  readonly limit: number;
  readonly now: () => number;
  readonly lanes = new Map<string, Lane>();
  running = 0;
  /** Those of them that are slow. */
  slow = 0;

  constructor(limit: number, now: () => number) {
    this.limit = limit;
    this.now = now;
  }

  lane(accessType: string): Lane {
    const lane = this.lanes.get(accessType) ?? new Lane(this);
    this.lanes.set(accessType, lane);
    return lane;
  }

  /** Nobody waits any more. */
  stop(reason: unknown): void {
    for (const lane of this.lanes.values()) lane.stop(reason);
    this.look();
  }

  /** After a change: is there anything left to do? */
  look(): void {
    if (this.running > 0 || [...this.lanes.values()].some((lane) => turns.has(lane))) busy.add(this);
    else busy.delete(this);
  }
}

/** Those of one kind that wait, the one that is due first in front, and how long the last of that kind ran. */
class Queue {
  readonly waiting: Waiter[] = [];
  /** The part of its timeout that each of them gets. */
  share = 1;
  readonly #recentMs: number[] = [];

  /** `isFirst`: no other of its kind waits or runs. Earlier runs may be of yesterday then, so they are forgotten. */
  add(waiter: Waiter, isFirst: boolean): void {
    if (isFirst) this.#recentMs.length = 0;
    const after = this.waiting.findLastIndex(({ dueAt }) => dueAt <= waiter.dueAt);
    this.waiting.splice(after + 1, 0, waiter);
  }

  ended(ms: number, limit: number): void {
    this.#recentMs.push(ms);
    if (this.#recentMs.length > 2 * limit) this.#recentMs.shift();
  }

  /** Milliseconds that the last runs took on average. Those that are `running` count too, and missing ones count as 0. */
  meanMs(running: readonly Run[], limit: number, now: number): number {
    const all = [...this.#recentMs, ...running.map(({ beganAt }) => now - beganAt)];
    return all.reduce((sum, ms) => sum + ms, 0) / Math.max(2 * limit, all.length);
  }
}

/** One access type of one instance. */
class Lane {
  readonly #instance: Instance;
  readonly #queues: Readonly<Record<Kind, Queue>> = { new: new Queue(), prompt: new Queue(), slow: new Queue() };
  readonly #running = new Set<Run>();

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  wait(request: RunRequest, whenever: Pick<Waiter, 'start' | 'stop'>): void {
    const { history, timeoutMs } = request;
    const kind = history.kind(timeoutMs);
    const queue = this.#queues[kind];
    const isFirst = queue.waiting.length === 0 && this.#runningOf(kind).length === 0;
    queue.add({ ...request, ...whenever, kind, dueAt: history.dueAt(this.#instance.now(), timeoutMs) }, isFirst);
    turns.add(this);
    this.#instance.look();
    startNext();
  }

  stop(reason: unknown): void {
    turns.delete(this);
    for (const { waiting } of Object.values(this.#queues)) for (const { stop } of waiting.splice(0)) stop(reason);
  }

  end(run: Run, wasKilled: boolean): void {
    this.#running.delete(run);
    this.#count(run, -1);
    const now = this.#instance.now();
    const usedMs = now - run.beganAt;
    run.history.add(usedMs, wasKilled, run.wholeTimeoutMs, now);
    this.#queues[run.kind].ended(wasKilled ? run.wholeTimeoutMs : usedMs, this.#instance.limit);
    this.#instance.look();
    startNext();
  }

  /** Takes this lane's turn, if there is one of so many places for it; it goes to the end of the round. */
  startOne(places: number): boolean {
    const first = Object.values(this.#queues)
      .flatMap(({ waiting: [head] }) => (head && this.#hasPlace(head, places) ? [head] : []))
      .sort((one, other) => one.dueAt - other.dueAt)
      .at(0);
    if (!first) return false;
    const { kind, history, timeoutMs: wholeTimeoutMs } = first;
    const timeoutMs = this.#timeFor(first);
    this.#queues[kind].waiting.shift();
    turns.delete(this);
    if (Object.values(this.#queues).some(({ waiting }) => waiting.length > 0)) turns.add(this);
    const run = { kind, history, beganAt: this.#instance.now(), timeoutMs, wholeTimeoutMs };
    this.#running.add(run);
    this.#count(run, 1);
    first.start(run);
    return true;
  }

  #count({ kind }: Run, change: 1 | -1): void {
    for (const count of [this.#instance, inAll]) {
      count.running += change;
      if (kind === 'slow') count.slow += change;
    }
  }

  #runningOf(kind: Kind): readonly Run[] {
    return [...this.#running].filter((run) => run.kind === kind);
  }

  /**
   * Slow plugins of one access type must not hold every place. So a quarter of the places is kept free for access types that run
   * nothing: one place for each of them at most. A slow input leaves a quarter free for everybody else. When it has waited long
   * enough, it takes any place, as long as a quarter of the places is without slow runs.
   */
  #hasPlace({ kind, limit, dueAt }: Waiter, places: number): boolean {
    const free = Math.min(limit - this.#instance.running, places - inAll.running);
    const quarter = Math.ceil((limit - 1) / 4);
    if (kind === 'slow') {
      const notSlow = Math.min(limit - this.#instance.slow, places - inAll.slow);
      return free > quarter || (free > 0 && notSlow > quarter && dueAt <= this.#instance.now());
    }
    return free > (this.isIdle ? 0 : Math.min(quarter, countIdle(quarter)));
  }

  /**
   * If runs take so long that those in line would wait for more than a timeout, they share about one timeout until the line is
   * empty. Each gets at least a twentieth of it. An input that needs more gets the whole timeout the next time.
   */
  #timeFor({ kind, history, timeoutMs, limit }: Waiter): number {
    if (kind === 'slow') return timeoutMs;
    const queue = this.#queues[kind];
    const count = queue.waiting.length;
    const meanMs = queue.meanMs(this.#runningOf(kind), limit, this.#instance.now());
    // Runs that are shorter hold nobody up for long, however many there are.
    const isTooLong = meanMs > timeoutMs / 10 && count * meanMs >= limit * timeoutMs;
    if (count <= 1) queue.share = 1;
    // It must not grow again: the last ones in line would wait for those before them.
    else if (isTooLong) queue.share = Math.min(queue.share, Math.max(1 / 20, limit / (4 * count)));
    return queue.share === 1
      ? timeoutMs
      : Math.min(timeoutMs, Math.max(queue.share * timeoutMs, 2 * history.expectedMs));
  }
}

/** Access types that run nothing, up to `most`. */
function countIdle(most: number): number {
  let idle = 0;
  for (const reference of known) {
    const instance = reference.deref();
    if (!instance) known.delete(reference);
    for (const lane of instance?.lanes.values() ?? []) {
      if (lane.isIdle) idle += 1;
      if (idle >= most) return idle;
    }
  }
  return idle;
}

/** Starts what has a place, a lane at a time in turn. */
function startNext(): void {
  while (startOne());
}

function startOne(): boolean {
  let places = 0;
  for (const { limit } of busy) places = Math.max(places, limit);
  if (inAll.running >= places) return false;
  for (const lane of turns) if (lane.startOne(places)) return true;
  return false;
}
