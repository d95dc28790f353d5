/** Events about the objects of a cluster (`events.k8s.io/v1`), as client-go's event broadcaster writes them: best effort. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { ApiError, checkArgument } from '../errors/index.ts';
import { reasonOf } from '../observability/callbacks.ts';
import { type Subject, WarningLimiter } from '../observability/warning-limiter.ts';
import { parseOptionsWith, text } from '../options/option-schemas.ts';
import type { KubernetesObject, ObjectMeta } from '../rest/api/kubernetes-object.ts';
import type { ResourceClient } from '../rest/api/resource-client.ts';
import { microTime } from './lease.ts';
import type { ReflectorContext } from './reflect/reflector.ts';

/** The object that an event is about: any object as the wire has it. */
export interface EventRegarding extends Pick<KubernetesObject, 'apiVersion' | 'kind'> {
  readonly metadata: Pick<ObjectMeta, 'name'> & Partial<Pick<ObjectMeta, 'namespace' | 'uid'>>;
}

/** What has happened. */
export interface EventOptions {
  /** @default Normal */
  readonly type?: 'Normal' | 'Warning' | undefined;
  /** Why, in one word: `SyncFailed`. */
  readonly reason: string;
  /** What the controller did, in one word: `Sync`. */
  readonly action: string;
  /** For people. Cut off after 1,024 bytes. */
  readonly note?: string | undefined;
  /** The name of your controller. @default clusterprofile-credentials */
  readonly controller?: string | undefined;
}

const optionsSchema = z.strictObject({
  type: z.enum(['Normal', 'Warning'], { error: 'must be Normal or Warning' }).default('Normal'),
  reason: text('one word, such as SyncFailed'),
  action: text('one word, such as Sync'),
  note: z.string({ error: 'must be text' }).default(''),
  controller: text('the name of a controller').default('clusterprofile-credentials'),
});

/** Equal events within this time are a series. It is also how often the count of a series is written. */
const seriesMs = 360_000;
const maxQueued = 1_000;
/** Of more, the oldest are forgotten: the next equal event is a new one. */
const maxSeries = 4_096;
const maxNoteBytes = 1_024;

interface Series {
  readonly namespace: string;
  readonly event: object & { readonly metadata: { readonly name: string } };
  count: number;
  lastObservedTime: string;
  /** Monotonic milliseconds. */
  last: number;
  /** The count that the server has, or is about to get. */
  written: number;
}

interface EventsParts {
  readonly context: Pick<ReflectorContext, 'clock' | 'logger' | 'fields'>;
  /** None are written. */
  readonly isPreview?: boolean;
  /** Events are written until it aborts. */
  readonly signal: AbortSignal;
  resource(namespace: string): Pick<ResourceClient, 'create' | 'patch'>;
}

/** Events about the objects of one cluster, for those who look with `kubectl describe`. */
export class Events {
  readonly #parts: EventsParts;
  readonly #warnings: WarningLimiter;
  readonly #subject: Subject;
  /** By the fields that have to be equal. */
  readonly #series = new Map<string, Series>();
  readonly #queue = new Set<Series>();
  #isWriting = false;
  #isTimed = false;

  /** @internal Made by `Fleet`. */
  constructor(parts: EventsParts) {
    this.#parts = parts;
    const { logger, clock, fields } = parts.context;
    this.#subject = { name: 'events', fields };
    this.#warnings = new WarningLimiter({ logger, clock: () => clock.uptime() });
  }

  /**
   * Records an event about an object, in the object's namespace, or `default` if it has none. Does not wait: an event that cannot be
   * written is dropped, and a warning says so.
   *
   * @throws {ConfigurationError} `OPTION_INVALID`, names every bad option
   * @example
   * cluster.events.record(deployment, { type: 'Warning', reason: 'SyncFailed', action: 'Sync', note: String(error) });
   */
  record(object: EventRegarding, options: EventOptions): void {
    const { apiVersion, kind, metadata } = Object(object) as EventRegarding; // looked at in the next line
    checkArgument('events.record', 'object', metadata?.name && apiVersion && kind, Boolean, 'an object with its kind');
    const { note, controller, ...given } = parseOptionsWith(optionsSchema, options);
    const { signal, context } = this.#parts;
    if (signal.aborted || this.#parts.isPreview) return;
    const { name, namespace, uid } = metadata;
    const regarding = { apiVersion, kind, name, namespace, uid };
    const key = JSON.stringify([regarding, given, controller]);
    const [time, now] = [microTime(context.clock.now()), context.clock.uptime()];
    const known = this.#series.get(key);
    if (known && now - known.last < seriesMs) {
      Object.assign(known, { count: known.count + 1, lastObservedTime: time, last: now });
      // The second event makes it a series, whose count the timer writes. An event that found the queue full is written now.
      if (known.written <= 1) this.#write(known);
      return;
    }
    if (known && known.count !== known.written) this.#write(known);
    const event = {
      metadata: { name: randomUUID() },
      eventTime: time,
      ...given,
      note: cut(note),
      regarding,
      reportingController: controller,
      reportingInstance: `${controller}-${hostname()}`.slice(0, 128),
    };
    const series = {
      namespace: namespace || 'default',
      event,
      count: 1,
      lastObservedTime: time,
      last: now,
      written: 0,
    };
    const [oldest] = this.#series.keys();
    if (this.#series.size >= maxSeries && oldest !== undefined) this.#series.delete(oldest);
    this.#series.delete(key);
    this.#series.set(key, series);
    this.#write(series);
    this.#time();
  }

  /** Writes the counts of series every six minutes, and drops finished ones. */
  #time(): void {
    const { signal, context } = this.#parts;
    if (this.#isTimed || this.#series.size === 0 || signal.aborted) return;
    this.#isTimed = true;
    const cancel = context.clock.after(seriesMs, () => {
      signal.removeEventListener('abort', cancel);
      this.#isTimed = false;
      for (const [key, series] of this.#series) {
        if (series.count !== series.written) this.#write(series);
        if (context.clock.uptime() - series.last >= seriesMs) this.#series.delete(key);
      }
      this.#time();
    });
    signal.addEventListener('abort', cancel, { once: true });
  }

  #write(series: Series): void {
    if (this.#queue.size >= maxQueued) return this.#warn('too many events wait to be written: one was dropped');
    this.#queue.add(series);
    if (!this.#isWriting) void this.#writeAll();
  }

  /** One request at a time, so that events are the least of the requests of a cluster. Never rejects. */
  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    for (const series of this.#queue) {
      this.#queue.delete(series);
      if (this.#parts.signal.aborted) break;
      try {
        await this.#send(series);
        this.#warnings.clear(this.#subject, 'event');
      } catch (error) {
        if (!this.#parts.signal.aborted) this.#warn(`an event was dropped: ${reasonOf(error)}`);
      }
    }
    this.#isWriting = false;
  }

  async #send(one: Series): Promise<void> {
    const { signal, resource } = this.#parts;
    const { namespace, event, count, lastObservedTime, written } = one;
    const events = resource(namespace);
    const series = count === 1 ? {} : { series: { count, lastObservedTime } };
    one.written = count;
    try {
      if (written > 0) {
        await events.patch(event.metadata.name, series, { signal });
        return;
      }
    } catch (error) {
      // Servers keep events for an hour.
      if (!(error instanceof ApiError) || error.statusCode !== 404) throw error;
    }
    await events.create({ ...event, ...series }, { signal });
  }

  #warn(message: string): void {
    this.#warnings.add(this.#subject, 'event', { message, key: 'event' });
  }
}

function cut(note: string): string {
  const bytes = Buffer.from(note);
  if (bytes.length <= maxNoteBytes) return note;
  // Half a character at the end would be three bytes.
  return `${bytes.subarray(0, maxNoteBytes - 6).toString()}...`;
}
