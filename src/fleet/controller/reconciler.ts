/** Calls the reconcile function for one object, with a timeout, returns the slot, and logs each problem once. */
import { randomUUID } from 'node:crypto';
import { tracingChannel } from 'node:diagnostics_channel';
import { CredentialsError, FleetError } from '../../errors/index.ts';
import { reasonOf } from '../../observability/callbacks.ts';
import { type ObservedWrite, reconcileField, reconcileScope } from '../../observability/telemetry.ts';
import { type Warning, WarningLimiter } from '../../observability/warning-limiter.ts';
import { keyOfName } from '../../rest/api/kubernetes-object.ts';
import { RestConfig } from '../../rest/rest-config.ts';
import { codeFieldOf } from '../../util/guards.ts';
import type { Cluster } from '../cluster.ts';
import type { LogFields } from '../guard.ts';
import { emit, isObserved, type ReconcileOutcome } from '../telemetry.ts';
import type { Attachment } from './attachment.ts';
import type { Job, Outcome } from './cluster-queue.ts';
import type { HubReconcileContext, ReconcileRequest, ReconcileResult, WrittenObject } from './options.ts';
import type { ControllerContext, Place, Tenure } from './place.ts';
import type { ControllerSettings } from './settings.ts';
import type { Written } from './written.ts';

/** For spans: the context of a message is that of the event `fleet-reconcile`, without its result. */
const tracing = tracingChannel('clusterprofile-credentials:reconcile');

/** The reason of a signal whose reconcile has ended. */
const hasEnded = new DOMException('the reconcile has ended', 'AbortError');

/** Milliseconds until a reconcile that has timed out loses its slot. */
const graceMs = 5_000;
/** Milliseconds for a reconcile whose cluster was disengaged, or whose object was lost; then it is given up. */
const drainTimeoutMs = 10_000;

export class Reconciler {
  readonly #settings: ControllerSettings;
  readonly #context: ControllerContext;
  readonly #warnings: WarningLimiter;
  readonly #hubInformer: HubReconcileContext['hubInformer'];

  constructor(settings: ControllerSettings, context: ControllerContext) {
    this.#settings = settings;
    this.#context = context;
    const { logger, clock } = context;
    this.#warnings = new WarningLimiter({ logger, clock: () => clock.uptime() });
    this.#hubInformer = context.hub.informer.bind(context.hub);
  }

  /** Runs one reconcile and returns its slot. Never rejects. */
  run(job: Job<ReconcileRequest>, attachment: Attachment, tenure: Tenure): Promise<void> {
    const key = keyOfName(job.value);
    const scope = {
      reconcileId: randomUUID(),
      wrote: (write: ObservedWrite) => attachment.written.observe(key, write),
    };
    return reconcileScope.run(scope, () => this.#run(scope.reconcileId, job, attachment, tenure));
  }

  async #run(
    reconcileId: string,
    job: Job<ReconcileRequest>,
    attachment: Attachment,
    { signal: ends, fence }: Tenure,
  ): Promise<void> {
    const { clock, hub, logger, observer } = this.#context;
    const { name: controller, reconcileTimeoutMs } = this.#settings;
    const { place, queue } = attachment;
    const { name, cluster } = place;
    const began = clock.uptime();
    const abort = new AbortController();
    const { promise: abandoned, reject: abandon } = Promise.withResolvers<never>();
    let cancelDrain = () => {};
    const end = () => {
      abort.abort(ends.reason);
      cancelDrain = clock.after(drainTimeoutMs, () => {
        const message = `reconcile of ${keyOfName(job.value)} on ${name} still runs ${drainTimeoutMs} ms after its signal aborted: it is given up`;
        logger.warn(this.#fields(place, job.value), message);
        abandon(ends.reason);
      });
    };
    ends.addEventListener('abort', end, { once: true });
    let late: FleetError | undefined;
    let outcome: Outcome = { failed: true };
    let result: ReconcileOutcome = 'error';
    let cancel = clock.after(reconcileTimeoutMs, () => {
      const message = `reconcile of ${keyOfName(job.value)} did not end within ${reconcileTimeoutMs} ms`;
      late = new FleetError('TIMEOUT', message, cluster ? { cluster: name } : {});
      // A cluster that hangs. Objects of the hub have nothing in common.
      if (cluster) queue.slow(true);
      abort.abort(late);
      cancel = clock.after(graceMs, () => {
        const fields = this.#fields(place, job.value);
        logger.warn(fields, `${message}, nor when its signal aborted: it goes on, and its slot is free for another`);
        job.release();
      });
    });
    const { triggers } = job;
    const call = () => this.#reconcile(reconcileId, job, attachment, abort.signal, hub.configFor(fence));
    const about = () => ({ reconcileId, triggers, controller, cluster: cluster?.name, ...job.value });
    const reconciled = tracing.hasSubscribers ? tracing.tracePromise(call, about()) : call();
    try {
      const wanted = await Promise.race([reconciled, abandoned]);
      if (late) throw late;
      outcome = wanted;
      result = outcome.requeueAfterMs === undefined ? 'success' : 'requeue_after';
      this.#warnings.clearOne(place, 'reconcile', keyOfName(job.value));
    } catch (error) {
      const atLeastMs = error instanceof CredentialsError ? error.retryAfterMs : undefined;
      outcome = { failed: true, ...(atLeastMs === undefined ? {} : { atLeastMs }) };
      result = ends.aborted ? 'cancelled' : late ? 'timeout' : 'error';
      this.#reportFailure(place, job, result, late ?? error);
    } finally {
      cancel();
      cancelDrain();
      ends.removeEventListener('abort', end);
      // Whatever came of it: the cluster answers.
      if (!late && !ends.aborted) queue.slow(false);
      // What it has left running stops.
      abort.abort(hasEnded);
      job.done(outcome);
      if (isObserved(observer, 'reconcile')) {
        const durationMs = clock.uptime() - began;
        emit(observer, 'reconcile', { ...about(), result, durationMs, waitedMs: job.waitedMs });
      }
    }
  }

  async #reconcile(
    reconcileId: string,
    { value: request, triggers }: Job<ReconcileRequest>,
    { place, mains, written }: Attachment,
    signal: AbortSignal,
    hub: RestConfig,
  ): Promise<ReconcileResult> {
    const key = keyOfName(request);
    if (written.has(key)) await this.#seen(request, place, written, signal);
    const { name, namespace } = request;
    const cache = mains.length === 1 ? mains[0] : mains.find(({ options }) => options.namespace === namespace);
    const object = cache?.get(name, namespace);
    const wrote = (result: WrittenObject, server?: RestConfig | Cluster) =>
      hub.preview ||
      written.add(key, result, server && (server instanceof RestConfig ? server : server.config).dispatcher);
    const { cluster } = place;
    const hubInformer = this.#hubInformer;
    const context = { cluster, object, reconcileId, triggers, signal, wrote, hub, hubInformer };
    const returned = await this.#settings.reconcile(request, context);
    const { requeueAfterMs } = Object(returned) as ReconcileResult; // checked here: it may come from JavaScript
    if (requeueAfterMs === undefined) return {};
    if (Number.isFinite(requeueAfterMs) && requeueAfterMs >= 0) return { requeueAfterMs };
    throw new TypeError(`reconcile returned requeueAfterMs ${String(requeueAfterMs)}: it must be milliseconds`);
  }

  /** Waits until the caches have what the last reconcile of the item has written. */
  async #seen(request: ReconcileRequest, place: Place, written: Written, signal: AbortSignal): Promise<void> {
    const missing = await written.seen(keyOfName(request), signal);
    if (missing === undefined) {
      this.#warnings.clear(place, 'cache');
    } else {
      const message = `reconcile of ${keyOfName(request)} on ${place.name} goes on without its last write: ${missing}`;
      this.#warn(place, 'cache', { message }, request);
    }
  }

  #reportFailure(
    place: Place,
    { value, failures }: Job<ReconcileRequest>,
    result: ReconcileOutcome,
    error: unknown,
  ): void {
    const key = keyOfName(value);
    const message = `reconcile of ${key} on ${place.name} failed (${result}, try ${failures + 1}): ${reasonOf(error)}`;
    if (result === 'cancelled') this.#context.logger.debug?.(this.#fields(place, value), message);
    else this.#warn(place, 'reconcile', { ...codeFieldOf(error), key, message }, value);
  }

  #warn(place: Place, kind: 'reconcile' | 'cache', warning: Warning, request: ReconcileRequest): void {
    const fields = this.#fields(place, request);
    const isSaid = this.#warnings.add({ name: place.name, fields }, kind, warning);
    if (!isSaid) this.#context.logger.debug?.(fields, warning.message);
  }

  #fields({ fields }: Place, request: ReconcileRequest): LogFields {
    return { controller: this.#settings.name, ...fields, object: keyOfName(request), ...reconcileField() };
  }
}
