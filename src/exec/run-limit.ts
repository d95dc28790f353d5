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

/** A run that needs a slot. */
export interface RunRequest {
  /** Identifies an instance: a `CredentialProviders`, a kubeconfig. When it aborts, the instance's queued runs reject with its reason. */
  readonly signal: AbortSignal;
  /** Plugins of this instance that may run at once. */
  readonly limit: number;
  readonly accessType: string;
  /** Of the plugin input that is run. */
  readonly history: RunHistory;
}

interface Run extends RunRequest {
  readonly priority: number;
  readonly start: () => void;
}

const [known, unknown, failed] = [0, 1, 2];
const running = new Set<Run>();
/** In the order of arrival. */
const waiting = new Set<Run>();

/**
 * Waits for a slot among the plugins of this process, and runs `work` in it. No instance has more slots than its limit, and all
 * together have no more than the largest limit.
 *
 * - The access type that runs the least is next.
 * - Within an access type, inputs whose last run succeeded come first, then new ones, then those whose last run failed.
 * - Inputs whose last run failed leave a quarter of an instance's slots to others.
 */
export async function withinRunLimit<T>(request: RunRequest, work: () => Promise<T>): Promise<T> {
  const { signal, history } = request;
  signal.throwIfAborted();
  const { lastRun } = history;
  const priority = lastRun === 'succeeded' ? known : lastRun === 'failed' ? failed : unknown;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const run = { ...request, priority, start: resolve };
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop);
  waiting.add(run);
  try {
    startNext();
    await promise;
    const result = await work();
    history.lastRun = 'succeeded';
    return result;
  } catch (error) {
    if (running.has(run)) history.lastRun = 'failed';
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    waiting.delete(run);
    running.delete(run);
    startNext();
  }
}
