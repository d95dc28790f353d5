/**
 * How many plugins run at once, and whose turn it is. Nobody with many plugins, or with plugins that hang, may push the others to
 * the end of the line. It must not know what a plugin is, but for the error that says that one took all of its time.
 */
import { availableParallelism } from 'node:os';
import { PluginError } from '../errors.ts';

/** Plugins that run at once in this process, by default: they mostly wait for a network. */
export const defaultMaxConcurrentRuns = 4 * availableParallelism();

/** What is known of a plugin input: its last run ended in time, it has never run, or its last run took all of its time. */
export type Standing = 'answers' | 'new' | 'hangs';

/** A run that wants a place. */
export interface RunRequest {
  /** One for each instance that has a limit of its own. Aborted when it is closed: what waits rejects with the reason. */
  readonly signal: AbortSignal;
  /** Plugins of this instance that may run at once. */
  readonly limit: number;
  readonly accessType: string;
  readonly standing: Standing;
  readonly timeoutMs: number;
}

/**
 * Waits for a place among the plugins of this process, and runs `work` in it, with the milliseconds that it may take. No instance
 * has more places than its limit, and all together no more than the largest limit. Access types take turns, those of each
 * instance; of one access type inputs that answer come first, then new ones, then those that hang.
 */
export async function withinRunLimit<T>(request: RunRequest, work: (timeoutMs: number) => Promise<T>): Promise<T> {
  request.signal.throwIfAborted();
  const lane = instanceOf(request).lane(request.accessType);
  const run = await new Promise<Run>((start, stop) => lane.wait({ ...request, start, stop }));
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
  readonly start: (run: Run) => void;
  readonly stop: (reason: unknown) => void;
}

/** One that is under way. */
interface Run {
  readonly standing: Standing;
  /** When half of its time is over. */
  readonly halfAt: number;
  readonly timeoutMs: number;
}

/** Plugins that run in this process. */
let total = 0;
/** Lanes with somebody in them, in the order of their turns. */
const turns = new Set<Lane>();
/** Those who run something, or wait for it: the largest of their limits counts. */
const busy = new Set<Instance>();
/** Weak: an instance that nobody closes, and nobody has any more, keeps no place free. */
const known = new Set<WeakRef<Instance>>();
const bySignal = new WeakMap<AbortSignal, Instance>();

function instanceOf({ signal, limit }: RunRequest): Instance {
  const instance = bySignal.get(signal) ?? new Instance(limit);
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
  readonly lanes = new Map<string, Lane>();
  running = 0;

  constructor(limit: number) {
    this.limit = limit;
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

/** One access type of one instance. */
class Lane {
  readonly #instance: Instance;
  readonly #waiting: Readonly<Record<Standing, Waiter[]>> = { answers: [], new: [], hangs: [] };
  readonly #running = new Set<Run>();
  /** New inputs that hung, less those that did not. */
  #hung = 0;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  wait(waiter: Waiter): void {
    this.#waiting[waiter.standing].push(waiter);
    turns.add(this);
    this.#instance.look();
    startNext();
  }

  stop(reason: unknown): void {
    turns.delete(this);
    for (const waiters of Object.values(this.#waiting)) for (const { stop } of waiters.splice(0)) stop(reason);
  }

  end(run: Run, hung: boolean): void {
    this.#running.delete(run);
    this.#instance.running -= 1;
    total -= 1;
    if (run.standing === 'new') this.#hung = Math.max(0, Math.min(this.#instance.limit, this.#hung + (hung ? 1 : -1)));
    this.#instance.look();
    startNext();
  }

  /** Takes this lane's turn, if there is one of so many places for it; it goes to the end of the round. */
  startOne(places: number): boolean {
    const waiters = [this.#waiting.answers, this.#waiting.new, this.#waiting.hangs].find(({ length }) => length > 0);
    const [next] = waiters ?? [];
    if (!waiters || !next || !this.#hasPlace(next, places)) return false;
    const timeoutMs = this.#timeFor(next);
    waiters.shift();
    turns.delete(this);
    if (Object.values(this.#waiting).some(({ length }) => length > 0)) turns.add(this);
    const run = { standing: next.standing, halfAt: performance.now() + timeoutMs / 2, timeoutMs };
    this.#running.add(run);
    this.#instance.running += 1;
    total += 1;
    next.start(run);
    return true;
  }

  /**
   * Slow plugins of one access type must not hold every place: as long as others run nothing, a quarter of the places, and no
   * more than one for each of them, is kept free for them; and for everybody else where an input is known to hang.
   */
  #hasPlace({ standing, limit }: Waiter, places: number): boolean {
    const free = Math.min(limit - this.#instance.running, places - total);
    const quarter = Math.ceil((limit - 1) / 4);
    if (standing === 'hangs') return free > quarter;
    return free > (this.isIdle ? 0 : Math.min(quarter, countIdle(quarter)));
  }

  /**
   * Where most places are held by new inputs that hang, those behind them would wait for a timeout after the other. So they
   * share about one timeout between them, at least a twentieth of it each; who needs more has all of it the next time.
   */
  #timeFor({ standing, timeoutMs, limit }: Waiter): number {
    if (standing !== 'new' || this.#hung === 0) return timeoutMs;
    const now = performance.now();
    const slow = [...this.#running].filter((run) => run.standing === 'new' && run.halfAt < now).length;
    if (this.#hung + slow < limit / 2) return timeoutMs;
    return timeoutMs * Math.max(1 / 20, Math.min(1, limit / (4 * this.#waiting.new.length)));
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
  if (total >= places) return false;
  for (const lane of turns) if (lane.startOne(places)) return true;
  return false;
}
