/** Informers, a work queue and a reconcile function: what changes on the clusters comes in, calls of the function go out. */

import { abortable } from '../../abortable.ts';
import { type BackoffLimits, backoffMs } from '../../backoff.ts';
import { reasonOf } from '../../callbacks.ts';
import { CredentialsError, FleetError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { type Clock, sleep } from '../clock.ts';
import type { Cluster, Drain } from '../cluster.ts';
import { debug, type LogFields, warn } from '../guard.ts';
import type { Informer } from '../informer/informer.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { inSlice } from '../reflect/slices.ts';
import { emit, type FleetObserver, type ReconcileResult } from '../telemetry.ts';
import { follow } from './follow.ts';
import type { Job, Lane, Outcome } from './lane.ts';
import type { ControllerOptions, ReconcileReturn, Request } from './options.ts';
import { keyOfRequest } from './requests.ts';
import { WorkQueue } from './work-queue.ts';

export interface ControllerContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  /** Something that a listing shows has changed. */
  changed(): void;
}

/** Milliseconds that a reconcile whose signal has aborted may take to end before it gives up its place. */
const graceMs = 5_000;
/** Between tries to begin on a cluster. */
const startLimits: BackoffLimits = { firstMs: 800, longestMs: 30_000, jitter: 1 };
/** Options with their defaults. */
type Settings<T extends KubernetesObject> = Required<Omit<ControllerOptions<T>, 'backoff'>> & {
  readonly backoff: { readonly firstMs: number; readonly longestMs: number };
};

/** A controller on one cluster. */
interface Attachment<T extends KubernetesObject> {
  readonly cluster: Cluster;
  /** Of what is reconciled. */
  readonly own: Informer<T>;
  readonly lane: Lane<Request>;
  /** Reconciles under way, those that count no more too. */
  readonly running: Set<Promise<unknown>>;
  /** Items that have failed since they last succeeded, so that each is warned about once. */
  readonly failing: Set<string>;
  /** For each reconcile that counts: from now on it does not. */
  readonly abandon: Set<(reason: unknown) => void>;
  /** Why it cannot begin. */
  trouble: string | undefined;
}

export class Controller<T extends KubernetesObject = KubernetesObject> {
  readonly name: string;
  readonly #settings: Settings<T>;
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue<Request>;
  readonly #attachments = new Map<Cluster, Attachment<T>>();
  readonly #byLane = new Map<Lane<Request>, Attachment<T>>();
  #pumping = false;

  constructor(settings: Settings<T>, context: ControllerContext) {
    const { name, concurrency, perClusterConcurrency, backoff } = settings;
    this.name = name;
    this.#settings = settings;
    this.#context = context;
    this.#queue = new WorkQueue({
      clock: context.clock,
      perLane: perClusterConcurrency,
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

  /** Works on a cluster until its signal aborts. */
  attach(cluster: Cluster): void {
    const lane = this.#queue.lane(cluster.name);
    const attachment: Attachment<T> = {
      cluster,
      own: cluster.informer(this.#settings.for),
      lane,
      running: new Set(),
      failing: new Set(),
      abandon: new Set(),
      trouble: undefined,
    };
    this.#attachments.set(cluster, attachment);
    this.#byLane.set(lane, attachment);
    this.#start(attachment);
    cluster.signal.addEventListener('abort', () => lane.close(), { once: true });
  }

  /** Why it does not work on a cluster that is engaged. */
  trouble(cluster: Cluster): string | undefined {
    return this.#attachments.get(cluster)?.trouble;
  }

  /**
   * Resolves when no reconcile of a cluster is under way any more, or `late` aborts. Those that go on when `cut` aborts give their
   * places up, and no timer is left of them. The cluster's signal has aborted before.
   */
  async drained(cluster: Cluster, { cut, late }: Drain): Promise<void> {
    const attachment = this.#attachments.get(cluster);
    if (!attachment) return;
    const abandon = () => {
      for (const reject of attachment.abandon) reject(cut.reason);
    };
    if (cut.aborted) abandon();
    cut.addEventListener('abort', abandon, { once: true });
    // None begins any more. `late` is the only thing that it can reject with.
    await abortable(() => Promise.all(attachment.running), late).catch(() => undefined);
    cut.removeEventListener('abort', abandon);
    this.#attachments.delete(cluster);
    this.#byLane.delete(attachment.lane);
  }

  /** Begins, however often that takes. Ends when work may begin, or the cluster goes. Never rejects. */
  async #start(attachment: Attachment<T>): Promise<void> {
    const { cluster } = attachment;
    const { clock, logger, changed } = this.#context;
    for (let failures = 1; !cluster.signal.aborted; failures++) {
      const subscriptions: (() => void)[] = [];
      try {
        await follow(attachment, this.#settings, { logger, fields: this.#fields(cluster), subscriptions });
        attachment.lane.resume();
        attachment.trouble = undefined;
        changed();
        return;
      } catch (error) {
        for (const end of subscriptions) end();
        if (cluster.signal.aborted) return;
        const message = `controller ${this.name} cannot begin on ${cluster.name}, and tries again: ${reasonOf(error)}`;
        (failures === 1 ? warn : debug)(logger, this.#fields(cluster), message);
        attachment.trouble = message;
        changed();
        await sleep(clock, backoffMs(failures, startLimits), cluster.signal).catch(() => undefined);
      }
    }
  }

  /** Begins as much work as may be under way at once, a little in each turn of the event loop. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    // What is queued in one go is looked at in one go.
    queueMicrotask(async () => {
      try {
        for (let job = this.#queue.take(); job; job = this.#queue.take()) {
          const taken = job;
          await inSlice(() => this.#begin(taken));
        }
      } finally {
        this.#pumping = false;
      }
    });
  }

  #begin(job: Job<Request>): void {
    const attachment = this.#byLane.get(job.lane);
    if (!attachment || attachment.cluster.signal.aborted) {
      job.release();
      return;
    }
    const running = this.#work(job, attachment).finally(() => {
      attachment.running.delete(running);
    });
    attachment.running.add(running);
  }

  /** Never rejects, and gives its place back, whatever happens. Resolves when the reconcile has ended. */
  async #work(job: Job<Request>, attachment: Attachment<T>): Promise<void> {
    const { clock } = this.#context;
    const { reconcileTimeoutMs } = this.#settings;
    const { cluster, lane } = attachment;
    const began = clock.uptime();
    const abort = new AbortController();
    const { promise: abandoned, reject: abandon } = Promise.withResolvers<never>();
    attachment.abandon.add(abandon);
    const disengaged = () => abort.abort(cluster.signal.reason);
    cluster.signal.addEventListener('abort', disengaged, { once: true });
    let timedOut = false;
    let outcome: Outcome = { failed: true };
    let result: ReconcileResult = 'error';
    let cancel = clock.after(reconcileTimeoutMs, () => {
      timedOut = true;
      lane.slow(true);
      const message = `reconcile of ${keyOfRequest(job.value)} did not end within ${reconcileTimeoutMs} ms`;
      abort.abort(new FleetError('TIMEOUT', message, { cluster: cluster.name }));
      cancel = clock.after(graceMs, () => {
        const fields = this.#fields(cluster, job.value);
        warn(this.#context.logger, fields, `${message}, nor when its signal aborted: it goes on without its place`);
        job.release();
      });
    });
    const reconciled = this.#reconcile(job.value, attachment, abort.signal);
    try {
      const wanted = await Promise.race([reconciled, abandoned]);
      if (timedOut) throw abort.signal.reason;
      outcome = wanted;
      result = outcome.requeueAfterMs === undefined ? 'success' : 'requeue_after';
      lane.slow(false);
      attachment.failing.delete(keyOfRequest(job.value));
    } catch (error) {
      const atLeastMs = error instanceof CredentialsError ? error.retryAfterMs : undefined;
      outcome = { failed: true, ...(atLeastMs === undefined ? {} : { atLeastMs }) };
      result = cluster.signal.aborted ? 'cancelled' : timedOut ? 'timeout' : 'error';
      this.#tellFailure(attachment, job, result, timedOut ? abort.signal.reason : error);
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
    // It may go on without its place.
    await reconciled.catch(() => undefined);
  }

  async #reconcile(request: Request, { cluster, own }: Attachment<T>, signal: AbortSignal): Promise<ReconcileReturn> {
    const object = own.get(request.name, request.namespace);
    const returned = (await this.#settings.reconcile(request, { cluster, object, signal })) ?? {};
    const { requeueAfterMs } = Object(returned) as ReconcileReturn; // checked here: it may come from JavaScript
    if (requeueAfterMs === undefined) return {};
    if (Number.isFinite(requeueAfterMs) && requeueAfterMs >= 0) return { requeueAfterMs };
    throw new TypeError(`reconcile returned requeueAfterMs ${String(requeueAfterMs)}: it must be milliseconds`);
  }

  #tellFailure(
    { cluster, failing }: Attachment<T>,
    { value, failures }: Job<Request>,
    result: ReconcileResult,
    error: unknown,
  ): void {
    const key = keyOfRequest(value);
    const fields = this.#fields(cluster, value);
    const message = `reconcile of ${key} on ${cluster.name} failed (${result}, try ${failures + 1}): ${reasonOf(error)}`;
    if (result === 'cancelled' || failing.has(key)) debug(this.#context.logger, fields, message);
    else warn(this.#context.logger, fields, message);
    if (result !== 'cancelled') failing.add(key);
  }

  #fields({ name }: Cluster, request?: Request): LogFields {
    return { controller: this.name, cluster: name, ...(request ? { object: keyOfRequest(request) } : {}) };
  }
}
