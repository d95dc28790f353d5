/** Calls the reconcile function for one object, with a timeout, returns the slot, and logs each problem once. */
import { randomUUID } from 'node:crypto';
import { tracingChannel } from 'node:diagnostics_channel';
import { CredentialsError, FleetError } from '../../errors/index.ts';
import { reasonOf } from '../../observability/callbacks.ts';
import { type ObservedWrite, reconcileScope } from '../../observability/telemetry.ts';
import { type Subject, type Warning, WarningLimiter } from '../../observability/warning-limiter.ts';
import { keyOfName } from '../../rest/api/kubernetes-object.ts';
import { RestConfig } from '../../rest/rest-config.ts';
import { codeFieldOf } from '../../util/guards.ts';
import type { Cluster } from '../cluster.ts';
import type { LogFields } from '../guard.ts';
import { emit, isObserved, type ReconcileOutcome } from '../telemetry.ts';
import type { Attachment } from './attachment.ts';
import type { Job, Outcome } from './cluster-queue.ts';
import type { HubReconcileContext, ReconcileRequest, ReconcileResult, WrittenObject } from './options.ts';
import type { ControllerContext, Tenure } from './place.ts';
import type { ControllerSettings } from './settings.ts';

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
    const wrote = (write: ObservedWrite) => attachment.written.observe(key, write);
    const scope = { reconcileId: randomUUID(), wrote };
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
    const key = keyOfName(job.value);
    const fields = { controller, ...place.fields, object: key, reconcileId };
    const began = clock.uptime();
    const abort = new AbortController();
    const { promise: abandoned, reject: abandon } = Promise.withResolvers<never>();
    let cancelDrain = () => {};
    const end = () => {
      abort.abort(ends.reason);
      cancelDrain = clock.after(drainTimeoutMs, () => {
        const message = `reconcile of ${key} on ${name} still runs ${drainTimeoutMs} ms after its signal aborted: it is given up`;
        logger.warn(fields, message);
        abandon(ends.reason);
      });
    };
    ends.addEventListener('abort', end, { once: true });
    let late: FleetError | undefined;
    let outcome: Outcome = { failed: true };
    let result: ReconcileOutcome = 'error';
    let cancel = clock.after(reconcileTimeoutMs, () => {
      const message = `reconcile of ${key} did not end within ${reconcileTimeoutMs} ms`;
      late = new FleetError('TIMEOUT', message, cluster ? { cluster: name } : {});
      // A cluster that hangs. Objects of the hub have nothing in common.
      if (cluster) queue.slow(true);
      abort.abort(late);
      cancel = clock.after(graceMs, () => {
        logger.warn(fields, `${message}, nor when its signal aborted: it goes on, and its slot is free for another`);
        job.release();
      });
    });
    const { triggers } = job;
    const call = () => this.#reconcile(fields, job, attachment, abort.signal, hub.configFor(fence));
    const about = () => ({ reconcileId, triggers, controller, cluster: cluster?.name, ...job.value });
    const reconciled = tracing.hasSubscribers ? tracing.tracePromise(call, about()) : call();
    try {
      const wanted = await Promise.race([reconciled, abandoned]);
      if (late) throw late;
      outcome = wanted;
      result = outcome.requeueAfterMs === undefined ? 'success' : 'requeue_after';
      this.#warnings.clearOne(place, 'reconcile', key);
    } catch (error) {
      outcome = { failed: true, atLeastMs: error instanceof CredentialsError ? error.retryAfterMs : undefined };
      result = ends.aborted ? 'cancelled' : late ? 'timeout' : 'error';
      const why = late ?? error;
      const message = `reconcile of ${key} on ${name} failed (${result}, try ${job.failures + 1}): ${reasonOf(why)}`;
      if (result === 'cancelled') logger.debug?.(fields, message);
      else this.#warn({ name, fields }, 'reconcile', { ...codeFieldOf(why), key, message });
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
    fields: LogFields & { readonly reconcileId: string },
    { value: request, triggers }: Job<ReconcileRequest>,
    { place, mains, written }: Attachment,
    signal: AbortSignal,
    hub: RestConfig,
  ): Promise<ReconcileResult> {
    const key = keyOfName(request);
    if (written.has(key)) {
      const missing = await written.seen(key, signal);
      const message = `reconcile of ${key} on ${place.name} goes on without its last write: ${missing}`;
      if (missing === undefined) this.#warnings.clear(place, 'cache');
      else this.#warn({ name: place.name, fields }, 'cache', { message });
    }
    const { name, namespace } = request;
    const cache = mains.length === 1 ? mains[0] : mains.find(({ options }) => options.namespace === namespace);
    const object = cache?.get(name, namespace);
    const wrote = (result: WrittenObject, server?: RestConfig | Cluster) =>
      hub.preview ||
      written.add(key, result, server && (server instanceof RestConfig ? server : server.config).dispatcher);
    const { cluster } = place;
    const { reconcileId } = fields;
    const hubInformer = this.#hubInformer;
    const context = { cluster, object, reconcileId, triggers, signal, wrote, hub, hubInformer };
    const returned = await this.#settings.reconcile(request, context);
    const { requeueAfterMs } = Object(returned) as ReconcileResult; // checked here: it may come from JavaScript
    if (requeueAfterMs === undefined) return {};
    if (Number.isFinite(requeueAfterMs) && requeueAfterMs >= 0) return { requeueAfterMs };
    throw new TypeError(`reconcile returned requeueAfterMs ${String(requeueAfterMs)}: it must be milliseconds`);
  }

  /** What was warned about before is logged for debugging. */
  #warn(subject: Subject, kind: 'reconcile' | 'cache', warning: Warning): void {
    const isSaid = this.#warnings.add(subject, kind, warning);
    if (!isSaid) this.#context.logger.debug?.(subject.fields, warning.message);
  }
}
