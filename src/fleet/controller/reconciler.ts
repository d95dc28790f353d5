/** Calls the reconcile function for one object, with a timeout, and returns the slot. */
import { CredentialsError, FleetError } from '../../errors/index.ts';
import { reasonOf, withoutTraps } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import { RestConfig } from '../../rest/rest-config.ts';
import { codeFieldOf } from '../../util/errno.ts';
import type { Clock } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import type { Hub } from '../hub.ts';
import { emit, type FleetObserver, type ReconcileOutcome } from '../telemetry.ts';
import type { Attachment } from './attachment.ts';
import type { Job, Outcome } from './cluster-queue.ts';
import type { ControllerLog } from './controller-log.ts';
import type { ControllerSettings, ReconcileRequest, ReconcileResult, WrittenObject } from './options.ts';
import type { Place, Tenure } from './place.ts';
import { keyOfRequest } from './requests.ts';
import type { Written } from './written.ts';

export interface ReconcilerContext {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  /** Milliseconds for a reconcile whose cluster was disengaged, or whose object was lost; then it is given up. */
  readonly drainTimeoutMs: number;
}

/** Milliseconds until a reconcile that has timed out loses its slot. */
const graceMs = 5_000;

export class Reconciler {
  readonly #settings: ControllerSettings;
  readonly #context: ReconcilerContext;
  readonly #log: ControllerLog;

  constructor(settings: ControllerSettings, context: ReconcilerContext, log: ControllerLog) {
    this.#settings = settings;
    this.#context = context;
    this.#log = log;
  }

  /** Runs one reconcile and returns its slot. Never rejects. */
  async run(job: Job<ReconcileRequest>, attachment: Attachment, { signal: ends, fence }: Tenure): Promise<void> {
    const { clock, hub, logger, drainTimeoutMs } = this.#context;
    const { reconcileTimeoutMs } = this.#settings;
    const { place, queue } = attachment;
    const { name, cluster } = place;
    const about = cluster ? { cluster: name } : {};
    const began = clock.uptime();
    const abort = new AbortController();
    const { promise: abandoned, reject: abandon } = Promise.withResolvers<never>();
    let cancelDrain = () => {};
    const end = () => {
      abort.abort(ends.reason);
      cancelDrain = clock.after(drainTimeoutMs, () => {
        const message = `reconcile of ${keyOfRequest(job.value)} on ${name} still runs ${drainTimeoutMs} ms after its signal aborted: it is given up`;
        logger.warn(this.#log.fields(place, job.value), message);
        abandon(ends.reason);
      });
    };
    ends.addEventListener('abort', end, { once: true });
    let timedOut = false;
    let outcome: Outcome = { failed: true };
    let result: ReconcileOutcome = 'error';
    let cancel = clock.after(reconcileTimeoutMs, () => {
      timedOut = true;
      // A cluster that hangs. Objects of the hub have nothing in common.
      if (cluster) queue.slow(true);
      const message = `reconcile of ${keyOfRequest(job.value)} did not end within ${reconcileTimeoutMs} ms`;
      abort.abort(new FleetError('TIMEOUT', message, about));
      cancel = clock.after(graceMs, () => {
        const fields = this.#log.fields(place, job.value);
        logger.warn(fields, `${message}, nor when its signal aborted: it goes on without its place`);
        job.release();
      });
    });
    const reconciled = this.#reconcile(job.value, attachment, abort.signal, hub.configFor(fence));
    try {
      const wanted = await Promise.race([reconciled, abandoned]);
      if (timedOut) throw abort.signal.reason;
      outcome = wanted;
      result = outcome.requeueAfterMs === undefined ? 'success' : 'requeue_after';
      this.#log.succeeded(place, job.value);
    } catch (thrown) {
      const error = withoutTraps(thrown);
      const atLeastMs = error instanceof CredentialsError ? error.retryAfterMs : undefined;
      outcome = { failed: true, ...(atLeastMs === undefined ? {} : { atLeastMs }) };
      result = ends.aborted ? 'cancelled' : timedOut ? 'timeout' : 'error';
      this.#reportFailure(place, job, result, timedOut ? abort.signal.reason : error);
    } finally {
      cancel();
      cancelDrain();
      ends.removeEventListener('abort', end);
      // Whatever came of it: the cluster answers.
      if (!timedOut && !ends.aborted) queue.slow(false);
      job.done(outcome);
      emit(this.#context.observer, 'reconcile', {
        controller: this.#settings.name,
        cluster: cluster?.name,
        ...job.value,
        result,
        durationMs: clock.uptime() - began,
        waitedMs: job.waitedMs,
      });
    }
  }

  async #reconcile(
    request: ReconcileRequest,
    { place, own, written }: Attachment,
    signal: AbortSignal,
    hub: RestConfig,
  ): Promise<ReconcileResult> {
    const key = keyOfRequest(request);
    if (written.has(key)) await this.#seen(request, place, written, signal);
    const object = own.get(request.name, request.namespace);
    const hubInformer = this.#context.hub.informer.bind(this.#context.hub);
    const wrote = (result: WrittenObject, server?: RestConfig | Cluster) =>
      written.add(key, result, server instanceof RestConfig ? 'hub' : server);
    const { cluster } = place;
    const context = { cluster, object, signal, wrote, hub, hubInformer };
    const returned = (await this.#settings.reconcile(request, context)) ?? {};
    const { requeueAfterMs } = Object(returned) as ReconcileResult; // checked here: it may come from JavaScript
    if (requeueAfterMs === undefined) return {};
    if (Number.isFinite(requeueAfterMs) && requeueAfterMs >= 0) return { requeueAfterMs };
    throw new TypeError(`reconcile returned requeueAfterMs ${String(requeueAfterMs)}: it must be milliseconds`);
  }

  /** Waits until the caches have what the last reconcile of the item has written. */
  async #seen(request: ReconcileRequest, place: Place, written: Written, signal: AbortSignal): Promise<void> {
    const missing = await written.seen(keyOfRequest(request), signal);
    if (missing === undefined) {
      this.#log.clear(place, 'cache');
    } else {
      const message = `reconcile of ${keyOfRequest(request)} on ${place.name} goes on without its last write: ${missing}`;
      this.#log.warn(place, 'cache', { message }, request);
    }
  }

  #reportFailure(
    place: Place,
    { value, failures }: Job<ReconcileRequest>,
    result: ReconcileOutcome,
    error: unknown,
  ): void {
    const key = keyOfRequest(value);
    const message = `reconcile of ${key} on ${place.name} failed (${result}, try ${failures + 1}): ${reasonOf(error)}`;
    if (result === 'cancelled') this.#context.logger.debug?.(this.#log.fields(place, value), message);
    else this.#log.warn(place, 'reconcile', { ...codeFieldOf(error), key, message }, value);
  }
}
