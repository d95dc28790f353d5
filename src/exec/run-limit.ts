/**
 * Decides how many plugins run at once, and which of the waiting ones runs next; plugins that get the terminal are not counted, since
 * they run one after the other. It never shortens a run: each has the whole timeout that the operator set. It must not know what a
 * plugin is.
 */
import { availableParallelism } from 'node:os';

/** Plugins that run at once in this process, by default: they mostly wait for a network. */
export const defaultMaxConcurrentPlugins = 4 * availableParallelism();

/** The history of one plugin input, shared by its runs. */
export interface RunHistory {
  lastRun?: 'succeeded' | 'failed';
}

export interface RunRequest {
  /** Identifies an instance: a `CredentialProviders`, a kubeconfig. When it aborts, the instance's queued runs reject with its reason. */
  readonly signal: AbortSignal;
  /** Plugins of this instance that may run at once. */
  readonly limit: number;
  readonly accessType: string;
  readonly history: RunHistory;
}

/**
 * Waits for a slot among the plugins of this process, and runs `work` in it. No instance has more slots than its limit, and all
 * together have no more than the largest limit.
 *
 * - The access type that runs the least is next. Within it, inputs whose last run succeeded come first, then new ones, then those whose
 *   last run failed.
 * - A quarter of an instance's slots is kept from inputs whose last run failed, and from an access type beside which there are others.
 */
export async function withinRunLimit<T>(request: RunRequest, work: () => Promise<T>): Promise<T> {
  const { signal, accessType, history } = request;
  const run = await new Promise<Run>((start, reject) => {
    signal.throwIfAborted();
    const instance = instanceOf(request);
    if (!instance.running.has(accessType)) instance.running.set(accessType, 0);
    waiting.add({ instance, accessType, rank: ranks[history.lastRun ?? 'new'], start, reject });
    startNext();
  });
  try {
    const result = await work();
    history.lastRun = 'succeeded';
    return result;
  } catch (error) {
    history.lastRun = 'failed';
    throw error;
  } finally {
    running.delete(run);
    count(run, -1);
    startNext();
  }
}

const ranks = { succeeded: 0, new: 1, failed: 2 };

interface Instance {
  readonly limit: number;
  /** Runs of each access type. */
  readonly running: Map<string, number>;
  runningAll: number;
  /** Those of inputs whose last run failed. */
  runningFailed: number;
}

interface Run {
  readonly instance: Instance;
  readonly accessType: string;
  readonly rank: number;
  readonly start: (run: Run) => void;
  readonly reject: (reason: unknown) => void;
}

const running = new Set<Run>();
/** In the order of arrival. */
const waiting = new Set<Run>();
const instances = new WeakMap<AbortSignal, Instance>();

function instanceOf({ signal, limit }: RunRequest): Instance {
  const known = instances.get(signal);
  if (known) return known;
  const instance = { limit, running: new Map(), runningAll: 0, runningFailed: 0 };
  instances.set(signal, instance);
  const close = () => {
    for (const run of waiting) {
      if (run.instance !== instance) continue;
      waiting.delete(run);
      run.reject(signal.reason);
    }
    startNext();
  };
  signal.addEventListener('abort', close, { once: true });
  return instance;
}

const ofType = ({ instance, accessType }: Run) => instance.running.get(accessType) ?? 0;

function hasSlot(run: Run): boolean {
  const { limit, running, runningAll, runningFailed } = run.instance;
  const quarter = Math.ceil((limit - 1) / 4);
  if (runningAll >= limit) return false;
  if (run.rank === ranks.failed && runningFailed >= limit - quarter) return false;
  return ofType(run) < limit - Math.min(quarter, running.size - 1);
}

const isBefore = (run: Run, other: Run) => (ofType(run) - ofType(other) || run.rank - other.rank) < 0;

function startNext(): void {
  for (;;) {
    const most = Math.max(0, ...[...running, ...waiting].map(({ instance }) => instance.limit));
    if (running.size >= most) return;
    let next: Run | undefined;
    for (const run of waiting) if (hasSlot(run) && (!next || isBefore(run, next))) next = run;
    if (!next) return;
    waiting.delete(next);
    running.add(next);
    count(next, 1);
    next.start(next);
  }
}

function count(run: Run, change: 1 | -1): void {
  const { instance, accessType, rank } = run;
  instance.running.set(accessType, ofType(run) + change);
  instance.runningAll += change;
  if (rank === ranks.failed) instance.runningFailed += change;
}
