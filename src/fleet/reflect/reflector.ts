/**
 * Lists and watches one resource on one server: decides which requests to make, where to resume after a failure, and how long to
 * wait. Yields groups of events, and waits for a slow reader.
 */
import { reasonOf } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Subject, WarningLimiter } from '../../observability/warning-limiter.ts';
import { type ApiServer, type Kind, listPath } from '../../rest/api/api-server.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { pause } from '../../util/abortable.ts';
import { backoffMs, watchBackoff } from '../../util/backoff.ts';
import { codeFieldOf } from '../../util/guards.ts';
import type { Clock } from '../clock.ts';
import { guard, type LogFields } from '../guard.ts';
import { emit, type FleetObserver } from '../telemetry.ts';
import { type Batch, listPages, NoStreamingList, watchEvents } from './batches.ts';
import type { ReflectorEvent } from './events.ts';
import { type Restart, type RestartReason, restartFor, WatchClosed } from './restart.ts';

/** The resource to list and watch. */
export interface ReflectedResource extends Kind {
  /** @default all */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /**
   * Asks the server for nothing but `metadata` (PartialObjectMetadata): less to send, to parse and to keep.
   * @default false
   */
  readonly metadataOnly?: boolean | undefined;
}

/** A failure, and when the reflector tries again. */
export interface ReflectorRestart {
  readonly reason: RestartReason;
  readonly error: Error;
  /** Milliseconds until the next attempt. */
  readonly afterMs: number;
}

/** Shared by all reflectors of one server. */
export interface ReflectorContext {
  readonly server: ApiServer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fields: LogFields;
  /** Where restarts are reported, and of which cluster; `undefined` is the hub. Absent outside of a fleet. */
  readonly reports?: { readonly observer: FleetObserver | undefined; readonly cluster: string | undefined };
  /** Returns the next step after a failure, for its message. */
  readonly advice?: (restart: Restart, resource: Kind) => string;
}

/** Why an informer currently receives nothing from its server. */
export interface InformerProblem {
  /** A stable word, for example `forbidden`. */
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** What a reflector reports besides its events. */
export interface ReflectorListener {
  /** Objects of a list have arrived. Throwing fails the list. */
  listed?(objects: number, bytes: number): void;
  restarted?(restart: ReflectorRestart): void;
  /** There is a `problem`. */
  changed?(): void;
}

/** Milliseconds after which an open watch counts as healthy, and earlier failures are forgotten. */
const healthyMs = 10_000;
/** Milliseconds. A watch that ends sooner is a failure, so that it is reopened with backoff. */
const shortMs = 1_000;
/** Milliseconds in which clients whose versions have expired list again, after a server was away. */
const backAgainMs = 1_000;
/** Milliseconds after which an unfinished list is reported. */
const slowMs = 60_000;

export class Reflector<T extends KubernetesObject = KubernetesObject> {
  /** Why nothing arrives from the server at the moment. */
  problem: InformerProblem | undefined;
  /** Whether its objects have namespaces; known when the first of them arrive. */
  isNamespaced = false;
  /** What the last group of events leads to, and where the watch resumes; `undefined` if a list is needed, or goes on. */
  version: string | undefined;
  readonly #resource: ReflectedResource;
  readonly #context: ReflectorContext;
  readonly #listener: ReflectorListener;
  readonly #subject: Subject;
  #streamingList = true;
  #openedAt: number | undefined;
  #failures = 0;
  /** The last attempt ended with an expired version. */
  #isExpired = false;
  #cancelSlow = () => {};
  readonly #warnings: WarningLimiter;

  constructor(resource: ReflectedResource, context: ReflectorContext, listener: ReflectorListener = {}) {
    this.#resource = resource;
    this.#context = context;
    this.#listener = listener;
    const { apiVersion, kind, namespace } = resource;
    const name = `the watch of ${kind} (${apiVersion})${namespace === undefined ? '' : ` in ${namespace}`}`;
    this.#subject = { name, fields: context.fields };
    this.#warnings = new WarningLimiter({ logger: context.logger, clock: () => context.clock.uptime() });
  }

  /** Runs until `signal` aborts. A group is empty if only the version has changed. */
  async *run(signal: AbortSignal): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    while (!signal.aborted) {
      this.#openedAt = undefined;
      this.#cancelSlow =
        this.version === undefined ? this.#context.clock.after(slowMs, () => this.#reportSlow()) : () => {};
      try {
        yield* this.#attempt(signal);
        if (this.#lived() < shortMs) throw new WatchClosed('the server ended the watch at once');
        this.#settle();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof NoStreamingList) {
          this.#context.logger.debug?.(this.#subject.fields, `no streaming list, so pages: ${error.message}`);
          this.#streamingList = false;
          continue;
        }
        this.#settle();
        this.#cancelSlow();
        await this.#pause(restartFor(error), signal);
      } finally {
        this.#cancelSlow();
      }
    }
  }

  /** Lists if needed, then watches once. */
  async *#attempt(signal: AbortSignal): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    const { server, clock } = this.#context;
    const reading = this.#resource;
    const { namespace, labelSelector, fieldSelector } = reading;
    const resource = await server.find(reading, signal);
    this.isNamespaced = resource.namespaced;
    const path = listPath(reading, resource, namespace);
    const query = { ...(labelSelector ? { labelSelector } : {}), ...(fieldSelector ? { fieldSelector } : {}) };
    const request = { server, path, query, reading, clock, signal };
    if (this.version === undefined && !this.#streamingList) yield* this.#read(listPages(request));
    const opened = () => {
      this.#openedAt = clock.uptime();
      if (this.version !== undefined) this.problem = undefined;
    };
    yield* this.#read(watchEvents({ ...request, version: this.version, opened }));
  }

  async *#read(batches: AsyncIterable<Batch>): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    let isBeginning = this.version === undefined;
    for await (const { events, bytes, version } of batches) {
      if (isBeginning) yield [{ type: 'Init' }];
      isBeginning = false;
      const isListing = this.version === undefined;
      if (isListing) this.#listener.listed?.(events.filter(({ type }) => type === 'InitApply').length, bytes);
      this.version = version;
      if (version !== undefined) {
        this.#cancelSlow();
        // Before the reader is told of the end: who is told by `hasSynced` may ask for it.
        this.problem = undefined;
      }
      yield events as readonly ReflectorEvent<T>[]; // the caller says what the kind is
    }
  }

  #lived(): number {
    return this.#openedAt === undefined ? 0 : this.#context.clock.uptime() - this.#openedAt;
  }

  /** A healthy watch clears the failures before it. */
  #settle(): void {
    if (this.#lived() < healthyMs) return;
    this.#failures = 0;
    this.#isExpired = false;
    this.#warnings.clear(this.#subject, 'watch');
  }

  async #pause(restart: Restart, signal: AbortSignal): Promise<void> {
    const { server, clock, logger, fields, reports } = this.#context;
    const { reason, error, relist, atLeastMs } = restart;
    const listing = this.version === undefined;
    if (relist) this.version = undefined;
    if (reason === 'not_found') server.forget(this.#resource.apiVersion);
    // The server, or a proxy, may not support a streaming list that stops or is closed.
    const stopped = reason === 'timeout' || reason === 'closed' || reason === 'connection';
    if (listing && stopped && this.#openedAt !== undefined) this.#streamingList = false;
    this.#failures += 1;
    const first = reason === 'expired' && !this.#isExpired;
    this.#isExpired = reason === 'expired';
    // A server that is back sends it to all of its clients at once: not a failure.
    const soonMs = this.#failures === 1 ? 0 : backAgainMs * Math.random();
    const afterMs = first ? soonMs : Math.max(atLeastMs, backoffMs(this.#failures, watchBackoff));
    const advice = this.#context.advice?.(restart, this.#resource);
    const message = `${this.#subject.name} ${relist && !listing ? 'is listed again' : 'goes on'} in ${(afterMs / 1_000).toFixed(1)} s (${reason}): ${reasonOf(error)}${advice ? `: ${advice}` : ''}`;
    // An expired version is routine.
    const isSaid =
      !first && this.#warnings.add(this.#subject, 'watch', { ...codeFieldOf(error), key: reason, message });
    if (!isSaid) logger.debug?.(fields, message);
    const { apiVersion, kind } = this.#resource;
    if (reports) emit(reports.observer, 'restart', { cluster: reports.cluster, apiVersion, kind, reason, afterMs });
    if (afterMs > 0) this.problem = { reason, message: reasonOf(error), since: this.problem?.since ?? clock.now() };
    guard(logger, fields, 'onRestart', () => this.#listener.restarted?.({ reason, error, afterMs }));
    this.#listener.changed?.();
    if (afterMs > 0) await pause(afterMs, signal, clock).catch(() => undefined);
  }

  #reportSlow(): void {
    const message = `${this.#subject.name} has not listed everything after ${slowMs / 1_000} s, and goes on: check whether its server or the network is slow`;
    this.#context.logger.warn(this.#subject.fields, message);
    this.problem ??= { reason: 'timeout', message, since: this.#context.clock.now() };
    this.#listener.changed?.();
  }
}
