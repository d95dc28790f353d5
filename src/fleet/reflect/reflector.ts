/**
 * Lists and watches one resource on one server: decides which requests to make, where to resume after a failure, and how long to
 * wait. Yields groups of events, and waits for a slow reader.
 */

import { reasonOf } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Subject, WarningLimiter } from '../../observability/warning-limiter.ts';
import type { ApiServer } from '../../rest/api/api-server.ts';
import { Discovery, type Kind, listPath, type Resource } from '../../rest/api/discovery.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import { pause } from '../../util/abortable.ts';
import { backoffMs, watchBackoff } from '../../util/backoff.ts';
import { codeFieldOf } from '../../util/guards.ts';
import type { Clock } from '../clock.ts';
import { guard, type LogFields } from '../guard.ts';
import { emit, type FleetObserver } from '../telemetry.ts';
import type { ReflectorEvent } from './events.ts';
import { type ListPage, listPages } from './list.ts';
import { type Restart, type RestartReason, restartFor, WatchClosed, WatchEnded } from './restart.ts';
import { NoStreamingList, watchEvents } from './watch.ts';

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

interface ContextOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fields: LogFields;
  /** Where restarts are reported, and of which cluster; `undefined` is the hub. Absent outside of a fleet. */
  readonly reports?: { readonly observer: FleetObserver | undefined; readonly cluster: string | undefined };
  /** Returns the next step after a failure, for its message. */
  readonly advice?: (restart: Restart) => string;
}

/** Shared by all reflectors of one server. */
export interface ReflectorContext extends ContextOptions {
  readonly server: ApiServer;
  readonly discovery: Discovery;
}

export function reflectorContext(server: ApiServer, options: ContextOptions): ReflectorContext {
  return { ...options, server, discovery: new Discovery(server, options.clock) };
}

/** What a reflector reports besides its events. */
export interface ReflectorListener {
  /** The server serves the kind. */
  found?(resource: Resource): void;
  /** A watch resumed from the last known version. */
  opened?(): void;
  /** The reader has handled everything up to this version. */
  reached?(version: string): void;
  restarts?(restart: ReflectorRestart): void;
  /** Objects of a list have arrived. Throwing fails the list. */
  listed?(objects: number, bytes: number): void;
  /** A list is slow, and continues. */
  slow?(message: string): void;
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
  readonly #resource: ReflectedResource;
  readonly #context: ReflectorContext;
  readonly #listener: ReflectorListener;
  /** The version to resume the watch at; `undefined` if a list is needed. */
  #version: string | undefined;
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
    this.#warnings = new WarningLimiter({ logger: context.logger, clock: () => context.clock.uptime() });
  }

  /** Runs until `signal` aborts. */
  async *run(signal: AbortSignal): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    while (!signal.aborted) {
      this.#openedAt = undefined;
      this.#cancelSlow =
        this.#version === undefined ? this.#context.clock.after(slowMs, () => this.#reportSlow()) : () => {};
      let restart: Restart;
      try {
        yield* this.#attempt(signal);
        this.#settle();
        if (this.#lived() >= shortMs) continue;
        restart = restartFor(new WatchClosed('the server ended the watch at once'));
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof NoStreamingList) {
          this.#context.logger.debug?.(this.#fields, `no streaming list, so pages: ${error.message}`);
          this.#streamingList = false;
          continue;
        }
        this.#settle();
        restart = restartFor(error);
      } finally {
        this.#cancelSlow();
      }
      await this.#pause(restart, signal);
    }
  }

  /** Lists if needed, then watches once. */
  async *#attempt(signal: AbortSignal): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    const { server, discovery, clock } = this.#context;
    const reading = this.#resource;
    const { namespace, labelSelector, fieldSelector } = reading;
    const resource = await discovery.find(reading, signal);
    this.#listener.found?.(resource);
    const path = listPath(reading, resource, namespace);
    const query = { ...(labelSelector ? { labelSelector } : {}), ...(fieldSelector ? { fieldSelector } : {}) };
    const request = { server, path, query, reading, clock, signal };
    if (this.#version === undefined && !this.#streamingList) {
      yield* this.#list(listPages(request));
      this.#reached();
    }
    const timeoutSeconds = Math.round(300 + 300 * Math.random());
    let listing = this.#version === undefined;
    const opened = () => {
      this.#openedAt = clock.uptime();
      if (!listing) guard(this.#context.logger, this.#fields, 'opened', () => this.#listener.opened?.());
    };
    let begun = !listing;
    for await (const { events, bytes } of watchEvents({ ...request, version: this.#version, timeoutSeconds, opened })) {
      if (!begun) yield [{ type: 'Init' }];
      begun = true;
      if (listing) this.#listener.listed?.(events.length, bytes);
      const out: ReflectorEvent<T>[] = [];
      for (const event of events) {
        switch (event.type) {
          case 'ERROR':
            if (out.length > 0) yield out;
            throw new WatchEnded(event.status, server.shown);
          case 'BOOKMARK':
            if (listing && event.endsInitialEvents) {
              listing = false;
              this.#cancelSlow();
              out.push({ type: 'InitDone' });
            }
            if (!listing) this.#version = event.version;
            break;
          case 'DELETED':
            out.push({ type: 'Delete', object: event.object as T }); // the caller says what the kind is
            if (!listing) this.#version = event.object.metadata.resourceVersion;
            break;
          default:
            out.push({ type: listing ? 'InitApply' : 'Apply', object: event.object as T }); // as above
            if (!listing) this.#version = event.object.metadata.resourceVersion;
        }
      }
      if (out.length > 0) yield out;
      if (!listing) this.#reached();
    }
    if (listing) throw new WatchClosed('the server ended the streaming list before its end');
  }

  /** A list in pages as events. */
  async *#list(pages: AsyncIterable<ListPage>): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    let last: ListPage | undefined;
    for await (const page of pages) {
      if (!last) yield [{ type: 'Init' }];
      last = page;
      this.#listener.listed?.(page.objects.length, page.bytes);
      yield page.objects.map((object) => ({ type: 'InitApply', object: object as T })); // the caller says what the kind is
    }
    this.#cancelSlow();
    yield [{ type: 'InitDone' }];
    this.#version = last?.version;
  }

  #reached(): void {
    if (this.#version !== undefined) this.#listener.reached?.(this.#version);
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
    const { clock, logger, discovery, reports } = this.#context;
    const { reason, error, relist, atLeastMs } = restart;
    const listing = this.#version === undefined;
    if (relist) this.#version = undefined;
    if (reason === 'not_found') discovery.forget(this.#resource.apiVersion);
    // The server, or a proxy, may not support a streaming list that stops or is closed.
    const stopped = reason === 'timeout' || reason === 'closed' || reason === 'connection';
    if (listing && stopped && this.#openedAt !== undefined) this.#streamingList = false;
    this.#failures += 1;
    const first = reason === 'expired' && !this.#isExpired;
    this.#isExpired = reason === 'expired';
    // A server that is back sends it to all of its clients at once: not a failure.
    const soonMs = this.#failures === 1 ? 0 : backAgainMs * Math.random();
    const afterMs = first ? soonMs : Math.max(atLeastMs, backoffMs(this.#failures, watchBackoff));
    const advice = this.#context.advice?.(restart);
    const message = `${this.#name()} ${relist && !listing ? 'is listed again' : 'goes on'} in ${(afterMs / 1_000).toFixed(1)} s (${reason}): ${reasonOf(error)}${advice ? `: ${advice}` : ''}`;
    // An expired version is routine.
    const isSaid =
      !first && this.#warnings.add(this.#subject, 'watch', { ...codeFieldOf(error), key: reason, message });
    if (!isSaid) logger.debug?.(this.#fields, message);
    const { apiVersion, kind } = this.#resource;
    if (reports) emit(reports.observer, 'restart', { cluster: reports.cluster, apiVersion, kind, reason, afterMs });
    guard(logger, this.#fields, 'onRestart', () => this.#listener.restarts?.({ reason, error, afterMs }));
    if (afterMs > 0) await pause(afterMs, signal, clock).catch(() => undefined);
  }

  #reportSlow(): void {
    const message = `${this.#name()} has not listed everything after ${slowMs / 1_000} s, and goes on: check whether its server or the network is slow`;
    this.#context.logger.warn(this.#fields, message);
    guard(this.#context.logger, this.#fields, 'slow', () => this.#listener.slow?.(message));
  }

  #name(): string {
    const { apiVersion, kind, namespace } = this.#resource;
    return `the watch of ${kind} (${apiVersion})${namespace === undefined ? '' : ` in ${namespace}`}`;
  }

  get #fields(): LogFields {
    return this.#context.fields;
  }

  get #subject(): Subject {
    return { name: this.#name(), fields: this.#fields };
  }
}
