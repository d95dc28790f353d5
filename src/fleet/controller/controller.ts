/** A controller: changes on the clusters come in, calls of the reconcile function go out. */

import { CredentialsError, FleetError } from '../../errors/index.ts';
import { reasonOf } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Warning, WarningLimiter } from '../../observability/warning-limiter.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { abortable, pause } from '../../util/abortable.ts';
import { backoffMs, watchBackoff } from '../../util/backoff.ts';
import { codeFieldOf } from '../../util/errno.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import type { LogFields } from '../guard.ts';
import type { Informer } from '../informer/informer.ts';
import { inTurn } from '../reflect/turns.ts';
import { emit, type FleetObserver, type ReconcileOutcome } from '../telemetry.ts';
import type { ClusterQueue, Job, Outcome } from './cluster-queue.ts';
import { follow } from './event-sources.ts';
import {
  type ControllerOptions,
  type ControllerSource,
  informerOf,
  type ReconcileRequest,
  type ReconcileResult,
  type WrittenObject,
} from './options.ts';
import { keyOfRequest } from './requests.ts';
import { WorkQueue } from './work-queue.ts';
import { Written } from './written.ts';

export interface ControllerContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  /** `fleet.list()` has changed. */
  changed(): void;
}

/** Milliseconds until a reconcile that has timed out loses its slot. */
const graceMs = 5_000;
/** Options with their defaults. */
type Settings<T extends KubernetesObject> = Required<Omit<ControllerOptions<T>, 'backoff'>> & {
  readonly backoff: { readonly firstMs: number; readonly longestMs: number };
};

/** A controller on one cluster. */
interface Attachment<T extends KubernetesObject> {
  readonly cluster: Cluster;
  /** The cache of what is reconciled. */
  readonly own: Informer<T>;
  readonly queue: ClusterQueue<ReconcileRequest>;
  readonly written: Written;
  /** All running reconciles, abandoned ones included. */
  readonly running: Set<Promise<unknown>>;
  /** Abandons each running reconcile. */
  readonly abandon: Set<(reason: unknown) => void>;
  /** Why it cannot start. */
  problem: string | undefined;
}

export class Controller<T extends KubernetesObject = KubernetesObject> {
  readonly name: string;
  readonly #settings: Settings<T>;
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue<ReconcileRequest>;
  readonly #attachments = new Map<Cluster, Attachment<T>>();
  readonly #byQueue = new Map<ClusterQueue<ReconcileRequest>, Attachment<T>>();
  readonly #warnings: WarningLimiter;
  #pumping = false;

  constructor(settings: Settings<T>, context: ControllerContext) {
    const { name, concurrency, perClusterConcurrency, backoff } = settings;
    this.name = name;
    this.#settings = settings;
    this.#context = context;
    this.#warnings = new WarningLimiter({ logger: context.logger, clock: () => context.clock.uptime() });
    this.#queue = new WorkQueue({
      clock: context.clock,
      perCluster: perClusterConcurrency,
      places: concurrency,
      backoff: { ...backoff, jitter: 0 },
      ready: () => this.#pump(),
    });
  }

  /** For metrics. */
  get stats() {
    const { name, concurrency } = this.#settings;
    return { name, depth: this.#queue.depth, adds: this.#queue.adds, active: this.#queue.working, concurrency };
  }

  /** Reconciles the objects of a cluster until its signal aborts. */
  attach(cluster: Cluster): void {
    const queue = this.#queue.queueOf(cluster.name);
    const attachment: Attachment<T> = {
      cluster,
      own: informerOf(cluster, this.#settings.for),
      queue,
      written: new Written(() => this.#cachesOf(cluster), this.#context.clock),
      running: new Set(),
      abandon: new Set(),
      problem: undefined,
    };
    this.#attachments.set(cluster, attachment);
    this.#byQueue.set(queue, attachment);
    this.#start(attachment);
    cluster.signal.addEventListener('abort', () => queue.close(), { once: true });
  }

  /** Why it cannot work on an engaged cluster. */
  problem(cluster: Cluster): string | undefined {
    return this.#attachments.get(cluster)?.problem;
  }

  /**
   * Resolves when no reconcile of a cluster runs, or `deadline` aborts. Reconciles that still run then lose their slots and timers. The
   * cluster's signal has aborted before.
   */
  async drained(cluster: Cluster, deadline: AbortSignal): Promise<void> {
    const attachment = this.#attachments.get(cluster);
    if (!attachment) return;
    const abandon = () => {
      for (const reject of attachment.abandon) reject(deadline.reason);
    };
    deadline.addEventListener('abort', abandon, { once: true });
    // No reconcile starts any more. Only the deadline makes it reject.
    await abortable(() => Promise.all(attachment.running), deadline).catch(() => undefined);
    deadline.removeEventListener('abort', abandon);
    this.#attachments.delete(cluster);
    this.#byQueue.delete(attachment.queue);
  }

  /** Retries until the event sources are attached, or the cluster is disengaged. Never rejects. */
  async #start(attachment: Attachment<T>): Promise<void> {
    const { cluster } = attachment;
    const { clock, logger, changed } = this.#context;
    for (let failures = 1; !cluster.signal.aborted; failures++) {
      const subscriptions: (() => void)[] = [];
      try {
        await follow(attachment, this.#settings, { logger, fields: this.#fields(cluster), subscriptions });
        attachment.queue.resume();
        attachment.problem = undefined;
        this.#warnings.clear({ name: cluster.name, fields: this.#fields(cluster) }, 'controller');
        changed();
        return;
      } catch (error) {
        for (const end of subscriptions) end();
        if (cluster.signal.aborted) return;
        const message = `controller ${this.name} cannot begin on ${cluster.name}, and tries again: ${reasonOf(error)}`;
        this.#warn(cluster, 'controller', { ...codeFieldOf(error), message });
        attachment.problem = message;
        changed();
        await pause(backoffMs(failures, watchBackoff), cluster.signal, clock).catch(() => undefined);
      }
    }
  }

  /** Starts as many reconciles as there are slots, some in each turn of the event loop. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    // After everything that is queued in this turn.
    queueMicrotask(async () => {
      try {
        for (let job = this.#queue.take(); job; job = this.#queue.take()) {
          const taken = job;
          await inTurn(this, 0, () => this.#begin(taken));
        }
      } finally {
        this.#pumping = false;
      }
    });
  }

  #begin(job: Job<ReconcileRequest>): void {
    const attachment = this.#byQueue.get(job.queue);
    if (!attachment || attachment.cluster.signal.aborted) {
      job.release();
      return;
    }
    const running = this.#work(job, attachment).finally(() => {
      attachment.running.delete(running);
    });
    attachment.running.add(running);
  }

  /** Runs one reconcile and returns its slot. Never rejects. */
  async #work(job: Job<ReconcileRequest>, attachment: Attachment<T>): Promise<void> {
    const { clock } = this.#context;
    const { reconcileTimeoutMs } = this.#settings;
    const { cluster, queue } = attachment;
    const began = clock.uptime();
    const abort = new AbortController();
    const { promise: abandoned, reject: abandon } = Promise.withResolvers<never>();
    attachment.abandon.add(abandon);
    const disengaged = () => abort.abort(cluster.signal.reason);
    cluster.signal.addEventListener('abort', disengaged, { once: true });
    let timedOut = false;
    let outcome: Outcome = { failed: true };
    let result: ReconcileOutcome = 'error';
    let cancel = clock.after(reconcileTimeoutMs, () => {
      timedOut = true;
      queue.slow(true);
      const message = `reconcile of ${keyOfRequest(job.value)} did not end within ${reconcileTimeoutMs} ms`;
      abort.abort(new FleetError('TIMEOUT', message, { cluster: cluster.name }));
      cancel = clock.after(graceMs, () => {
        const fields = this.#fields(cluster, job.value);
        this.#context.logger.warn(fields, `${message}, nor when its signal aborted: it goes on without its place`);
        job.release();
      });
    });
    const reconciled = this.#reconcile(job.value, attachment, abort.signal);
    try {
      const wanted = await Promise.race([reconciled, abandoned]);
      if (timedOut) throw abort.signal.reason;
      outcome = wanted;
      result = outcome.requeueAfterMs === undefined ? 'success' : 'requeue_after';
      queue.slow(false);
      this.#warnings.clearOne(cluster, 'reconcile', keyOfRequest(job.value));
    } catch (error) {
      const atLeastMs = error instanceof CredentialsError ? error.retryAfterMs : undefined;
      outcome = { failed: true, ...(atLeastMs === undefined ? {} : { atLeastMs }) };
      result = cluster.signal.aborted ? 'cancelled' : timedOut ? 'timeout' : 'error';
      this.#reportFailure(cluster, job, result, timedOut ? abort.signal.reason : error);
    } finally {
      cancel();
      cluster.signal.removeEventListener('abort', disengaged);
      attachment.abandon.delete(abandon);
      job.done(outcome);
      emit(this.#context.observer, 'reconcile', {
        controller: this.name,
        cluster: cluster.name,
        ...job.value,
        result,
        durationMs: clock.uptime() - began,
        waitedMs: job.waitedMs,
      });
    }
    // It may still run, without a slot.
    await reconciled.catch(() => undefined);
  }

  async #reconcile(
    request: ReconcileRequest,
    { cluster, own, written }: Attachment<T>,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const key = keyOfRequest(request);
    if (written.has(key)) await this.#seen(request, cluster, written, signal);
    const object = own.get(request.name, request.namespace);
    const wrote = (result: WrittenObject) => written.add(key, result);
    const returned = (await this.#settings.reconcile(request, { cluster, object, signal, wrote })) ?? {};
    const { requeueAfterMs } = Object(returned) as ReconcileResult; // checked here: it may come from JavaScript
    if (requeueAfterMs === undefined) return {};
    if (Number.isFinite(requeueAfterMs) && requeueAfterMs >= 0) return { requeueAfterMs };
    throw new TypeError(`reconcile returned requeueAfterMs ${String(requeueAfterMs)}: it must be milliseconds`);
  }

  /** Waits until the caches have what the last reconcile of the item has written. */
  async #seen(request: ReconcileRequest, cluster: Cluster, written: Written, signal: AbortSignal): Promise<void> {
    const missing = await written.seen(keyOfRequest(request), signal);
    if (missing === undefined) {
      this.#warnings.clear({ name: cluster.name, fields: this.#fields(cluster) }, 'cache');
    } else {
      const message = `reconcile of ${keyOfRequest(request)} on ${cluster.name} goes on without its last write: ${missing}`;
      this.#warn(cluster, 'cache', { message }, request);
    }
  }

  #cachesOf(cluster: Cluster): readonly Informer[] {
    if (cluster.signal.aborted) return [];
    const { for: main, owns, watches } = this.#settings;
    return [main as object as ControllerSource, ...owns, ...watches].map((source) => informerOf(cluster, source)); // of any type
  }

  #reportFailure(
    cluster: Cluster,
    { value, failures }: Job<ReconcileRequest>,
    result: ReconcileOutcome,
    error: unknown,
  ): void {
    const key = keyOfRequest(value);
    const message = `reconcile of ${key} on ${cluster.name} failed (${result}, try ${failures + 1}): ${reasonOf(error)}`;
    if (result === 'cancelled') this.#context.logger.debug?.(this.#fields(cluster, value), message);
    else this.#warn(cluster, 'reconcile', { ...codeFieldOf(error), key, message }, value);
  }

  #warn(
    cluster: Cluster,
    kind: 'controller' | 'reconcile' | 'cache',
    warning: Warning,
    request?: ReconcileRequest,
  ): void {
    const fields = this.#fields(cluster, request);
    const isSaid = this.#warnings.add({ name: cluster.name, fields }, kind, warning);
    if (!isSaid) this.#context.logger.debug?.(fields, warning.message);
  }

  #fields({ name }: Cluster, request?: ReconcileRequest): LogFields {
    return { controller: this.name, cluster: name, ...(request ? { object: keyOfRequest(request) } : {}) };
  }
}
