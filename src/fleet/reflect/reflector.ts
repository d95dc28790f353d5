/**
 * List and watch of one resource on one server, for ever: which requests to make, where to go on after a failure, how long to
 * wait. Groups of events go out; who reads slowly is waited for.
 */

import { type BackoffLimits, backoffMs } from '../../backoff.ts';
import { reasonOf } from '../../callbacks.ts';
import type { Logger } from '../../logger.ts';
import type { ApiServer } from '../api-server.ts';
import { type Clock, sleep } from '../clock.ts';
import { type Discovery, type Kind, listPath } from '../discovery.ts';
import { debug, guard, type LogFields, warn } from '../guard.ts';
import type { KubernetesObject } from '../kubernetes-object.ts';
import { isOlder, type ObjectReading, type ReflectorEvent } from './events.ts';
import { listPages } from './list.ts';
import { type Restart, type RestartReason, restartFor, WatchClosed, WatchEnded } from './restart.ts';
import { NoStreamingList, watchEvents } from './watch.ts';

/** What is reflected. */
export interface ReflectedResource extends Kind {
  /** Default: all. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Keep `metadata.managedFields`, which nobody reads and which is a third of many objects. Default: false. */
  readonly keepManagedFields?: boolean;
}

/** Told of each failure. */
export interface ReflectorRestart {
  readonly reason: RestartReason;
  readonly error: Error;
  /** Milliseconds until it goes on. */
  readonly afterMs: number;
}

/** Of one server, shared by all of its reflectors. */
export interface ReflectorContext {
  readonly server: ApiServer;
  readonly discovery: Discovery;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fields: LogFields;
  /** From 0 to 1. */
  readonly random: () => number;
  /** What to do about a failure, for its message. */
  readonly advice?: (restart: Restart) => string;
}

/** What a reflector reports beside its events. */
export interface ReflectorListener {
  /** The server answers. */
  opened?(): void;
  restarts?(restart: ReflectorRestart): void;
  /** There is a new list because what the server said was wrong: it may use versions again that it has used before. */
  doubtful?(): void;
}

const limits: BackoffLimits = { firstMs: 800, longestMs: 30_000, jitter: 1 };
/** Milliseconds after which what was opened counts as well, and earlier failures are forgotten. */
const healthyMs = 10_000;
/** A watch that ends sooner is a failure, in milliseconds: it must not be opened again and again. */
const shortMs = 1_000;
/** A list whose pages take longer than the server keeps them gets larger pages. */
const growth = 4;
const largestPage = 8_000;

export class Reflector<T extends KubernetesObject = KubernetesObject> {
  readonly #resource: ReflectedResource;
  readonly #context: ReflectorContext;
  readonly #listener: ReflectorListener;
  readonly #reading: ObjectReading;
  readonly #query: Readonly<Record<string, string>>;
  /** Where the watch goes on; `undefined` where there has to be a list. */
  #version: string | undefined;
  #streamingList = true;
  #pageSize = 500;
  #openedAt: number | undefined;
  #failures = 0;
  readonly #warned = new Set<RestartReason>();

  constructor(resource: ReflectedResource, context: ReflectorContext, listener: ReflectorListener = {}) {
    const { apiVersion, kind, labelSelector, fieldSelector, keepManagedFields = false } = resource;
    this.#resource = resource;
    this.#context = context;
    this.#listener = listener;
    this.#reading = { apiVersion, kind, keepManagedFields };
    this.#query = { ...(labelSelector ? { labelSelector } : {}), ...(fieldSelector ? { fieldSelector } : {}) };
  }

  /** Goes on until `signal` aborts, and then ends. */
  async *run(signal: AbortSignal): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    while (!signal.aborted) {
      this.#openedAt = undefined;
      let restart: Restart;
      try {
        yield* this.#attempt(signal);
        this.#settle();
        if (this.#lived() >= shortMs) continue;
        restart = restartFor(new WatchClosed('the server ended the watch at once'));
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof NoStreamingList) {
          debug(this.#context.logger, this.#fields, `no streaming list, so pages: ${error.message}`);
          this.#streamingList = false;
          continue;
        }
        this.#settle();
        restart = restartFor(error);
      }
      await this.#pause(restart, signal);
    }
  }

  /** One list where one is needed, and one watch. */
  async *#attempt(signal: AbortSignal): AsyncGenerator<readonly ReflectorEvent<T>[], void> {
    const { server, discovery, clock, random } = this.#context;
    const { namespace } = this.#resource;
    const path = listPath(this.#resource, await discovery.find(this.#resource, signal), namespace);
    const request = { server, path, query: this.#query, reading: this.#reading, clock, signal };
    if (this.#version === undefined && !this.#streamingList) {
      this.#version = yield* this.#list(listPages({ ...request, pageSize: this.#pageSize }));
    }
    const timeoutSeconds = Math.round(300 + 300 * random());
    const opened = () => {
      this.#openedAt = clock.uptime();
      guard(this.#context.logger, this.#fields, 'opened', () => this.#listener.opened?.());
    };
    let listing = this.#version === undefined;
    let begun = !listing;
    for await (const events of watchEvents({ ...request, version: this.#version, timeoutSeconds, opened })) {
      const out: ReflectorEvent<T>[] = begun ? [] : [{ type: 'Init' }];
      begun = true;
      for (const event of events) {
        switch (event.type) {
          case 'ERROR':
            if (out.length > 0) yield out;
            throw new WatchEnded(event.status, server.shown);
          case 'BOOKMARK':
            if (listing && event.endsInitialEvents) {
              listing = false;
              out.push({ type: 'InitDone' });
            }
            if (!listing) this.#goOnFrom(event.version);
            break;
          case 'DELETED':
            out.push({ type: 'Delete', object: event.object as T }); // the caller says what the kind is
            if (!listing) this.#goOnFrom(event.object.metadata.resourceVersion);
            break;
          default:
            out.push({ type: listing ? 'InitApply' : 'Apply', object: event.object as T }); // as above
            if (!listing) this.#goOnFrom(event.object.metadata.resourceVersion);
        }
      }
      if (out.length > 0) yield out;
    }
    if (listing) throw new WatchClosed('the server ended the streaming list before its end');
  }

  /** A list in pages as events. Returns its version. */
  async *#list(
    pages: AsyncGenerator<readonly KubernetesObject[], string>,
  ): AsyncGenerator<readonly ReflectorEvent<T>[], string> {
    let begun = false;
    for (;;) {
      const { done, value } = await pages.next();
      if (!begun) yield [{ type: 'Init' }];
      begun = true;
      if (done) {
        yield [{ type: 'InitDone' }];
        return value;
      }
      yield value.map((object) => ({ type: 'InitApply', object: object as T })); // the caller says what the kind is
    }
  }

  #goOnFrom(version: string): void {
    if (this.#version !== undefined && isOlder(version, this.#version)) {
      throw new WatchEnded({
        message: `version ${version} came after ${this.#version}: the server's data were restored`,
      });
    }
    // An object without a version leads nowhere: there has to be a list.
    this.#version = version === '' ? undefined : version;
  }

  #lived(): number {
    return this.#openedAt === undefined ? 0 : this.#context.clock.uptime() - this.#openedAt;
  }

  /** What has gone well for a while wipes out the failures before it. */
  #settle(): void {
    if (this.#lived() < healthyMs) return;
    this.#failures = 0;
    this.#warned.clear();
  }

  async #pause(restart: Restart, signal: AbortSignal): Promise<void> {
    const { clock, random, logger, discovery } = this.#context;
    const { reason, error, relist, atLeastMs } = restart;
    const listing = this.#version === undefined;
    if (relist) this.#version = undefined;
    if (relist && reason !== 'expired') guard(logger, this.#fields, 'doubtful', () => this.#listener.doubtful?.());
    if (reason === 'not_found') discovery.forget(this.#resource.apiVersion);
    if (listing && reason === 'expired') {
      this.#pageSize = this.#pageSize * growth > largestPage ? 0 : this.#pageSize * growth;
    }
    // A streaming list that stops, or is ended by somebody on the way, may be one that the server does not know.
    const stopped = reason === 'timeout' || reason === 'closed' || reason === 'connection';
    if (listing && stopped && this.#openedAt !== undefined) this.#streamingList = false;
    this.#failures += 1;
    const first = reason === 'expired' && this.#failures === 1;
    const afterMs = first ? 0 : Math.max(atLeastMs, backoffMs(this.#failures, limits, random));
    const advice = this.#context.advice?.(restart);
    const message = `${this.#name()} ${relist && !listing ? 'is listed again' : 'goes on'} in ${(afterMs / 1_000).toFixed(1)} s (${reason}): ${reasonOf(error)}${advice ? `: ${advice}` : ''}`;
    // An old version is everyday's business; other trouble is told once until it has passed.
    if (first || this.#warned.has(reason)) debug(logger, this.#fields, message);
    else warn(logger, this.#fields, message);
    this.#warned.add(reason);
    guard(logger, this.#fields, 'onRestart', () => this.#listener.restarts?.({ reason, error, afterMs }));
    if (afterMs > 0) await sleep(clock, afterMs, signal).catch(() => undefined);
  }

  #name(): string {
    const { apiVersion, kind, namespace } = this.#resource;
    return `the watch of ${kind} (${apiVersion})${namespace === undefined ? '' : ` in ${namespace}`}`;
  }

  get #fields(): LogFields {
    return this.#context.fields;
  }
}
