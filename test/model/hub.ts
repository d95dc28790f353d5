/** A hub that has Leases, and a network to it that loses, delays, repeats and reorders. */
import { ApiError } from '../../src/errors/index.ts';
import type { Lease } from '../../src/fleet/lease.ts';
import { type LeaseClient, Leases } from '../../src/fleet/leases.ts';
import type { ShardingOptions } from '../../src/fleet/sharding/sharding.ts';
import type { DeleteOptions } from '../../src/rest/api/resource-options.ts';
import type { Process, World } from './world.ts';

/** How bad the network is. */
export interface Weather {
  /** Milliseconds that most messages take at most. */
  readonly delayMs: number;
  /** Milliseconds that they take at least. @default 1 */
  readonly leastMs?: number;
  /** How likely a message takes up to a minute. */
  readonly late: number;
  readonly lost: number;
  readonly repeated: number;
}

const refusal = new ApiError('API_STATUS', 'the hub is away', { statusCode: 503 });
const notFound = new ApiError('API_STATUS', 'it is gone', { statusCode: 404 });
const conflict = new ApiError('API_STATUS', 'it has changed', { statusCode: 409 });

interface Change {
  readonly type: 'applied' | 'deleted';
  readonly lease: Lease;
}

interface Watcher {
  readonly process: Process;
  readonly report: Parameters<ShardingOptions['watch']>[0];
  /** What was there at first and is not reported yet. */
  there: readonly Change[];
  /** The next change to report. */
  next: number;
  isAwaited: boolean;
}

export class SimulatedHub {
  readonly #world: World;
  readonly #leases = new Map<string, Lease>();
  readonly #createdAt = new Map<string, number>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  /** The world's time until which it answers no request. */
  #awayUntil = 0;
  readonly #cutOffUntil = new Map<Process, number>();
  readonly #mutedUntil = new Map<Process, number>();
  readonly #behindUntil = new Map<Process, number>();
  #version = 0;
  weather: Weather;
  /**
   * Creations take no longer than other messages do. They have no precondition: one that arrives long after a person has deleted
   * the Lease that it was to be could give a shard to two replicas, and nothing can prevent that.
   */
  areCreationsPunctual = false;

  constructor(world: World, weather: Weather) {
    this.#world = world;
    this.weather = weather;
  }

  /** All that Leases name. */
  get holders(): readonly string[] {
    return [...this.#leases.values()].flatMap(({ spec }) => spec?.holderIdentity || []);
  }

  goAway(ms: number): void {
    this.#awayUntil = this.#world.now + ms;
  }

  cutOff(process: Process, ms: number): void {
    this.#cutOffUntil.set(process, this.#world.now + ms);
  }

  /** Refuses what a process writes to its own Lease, as an admission webhook may do. Leases of shards are as before. */
  mute(process: Process, ms: number): void {
    this.#mutedUntil.set(process, this.#world.now + ms);
  }

  /** The watch of a process reports nothing for a while, as that of an API server whose cache is behind. */
  fallBehind(process: Process, ms: number): void {
    this.#behindUntil.set(process, this.#world.now + ms);
  }

  /**
   * Deletes one of the Leases, as a person may. Not that of a shard in the first seconds of a fleet, when replicas create them without
   * waiting: again a creation could arrive after it. Nor that of a replica which has just begun, and which no shard names yet: another
   * process of this identity that starts just then cannot know of it.
   */
  deleteByHand(which: number): void {
    const all = [...this.#leases.values()];
    const lease = all[which % all.length];
    if (!lease) return;
    const { name } = lease.metadata;
    const youngMs = name.includes('-shard-') ? 20_000 : 5_000;
    if (this.#world.now - (this.#createdAt.get(name) ?? 0) >= youngMs) this.#delete(name, lease.metadata);
  }

  /** The hub, as one process reaches it. */
  for(process: Process) {
    const list = () => ({ metadata: { resourceVersion: '' }, items: [...this.#leases.values()] });
    const write = (lease: object, signal: AbortSignal | undefined) => {
      const written = lease as Lease; // made by Leases; one that is to be created has no uid yet
      return this.#ask(process, signal, () => this.#write(written) ?? conflict, written);
    };
    const client: LeaseClient = {
      get: (name, { signal } = {}) => this.#ask(process, signal, () => this.#leases.get(name) ?? notFound),
      list: ({ signal } = {}) => this.#ask(process, signal, list),
      create: (lease, { signal } = {}) => write(lease, signal),
      replace: (lease, { signal } = {}) => write(lease, signal),
      delete: (name, { signal, preconditions } = {}) =>
        this.#ask(process, signal, () => (this.#delete(name, preconditions) ? undefined : conflict)),
    };
    return {
      leases: new Leases(client, { clock: process.clock, limitMs: 10_000, advice: '' }),
      watch: (report: Watcher['report'], signal: AbortSignal) => {
        // What is there comes first, as of a list.
        const changes = [...this.#leases.values()].map((lease) => ({ type: 'applied' as const, lease }));
        const watcher = { process, report, there: changes, next: this.#changes.length, isAwaited: false };
        this.#watchers.add(watcher);
        signal.addEventListener('abort', () => this.#watchers.delete(watcher), { once: true });
        this.#notify(watcher);
      },
    };
  }

  #ask<T>(process: Process, signal: AbortSignal | undefined, request: () => T | ApiError, written?: Lease): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    const isLost = this.#world.chance(this.weather.lost);
    const isPunctual = this.areCreationsPunctual && written !== undefined && written.metadata.uid === undefined;
    const send = (isCopy: boolean) =>
      this.#world.in(this.#delay(isPunctual), () => {
        if (isLost) return;
        if (this.#isAway(process)) {
          if (!isCopy && this.#world.chance(0.5)) process.deliver(() => reject(refusal));
          return;
        }
        if (written && this.#isMuted(process, written)) {
          process.deliver(() => reject(refusal));
          return;
        }
        const answer = request();
        if (isCopy || this.#world.chance(this.weather.lost)) return;
        this.#world.in(this.#delay(), () => {
          if (!this.#isAway(process))
            process.deliver(() => (answer instanceof ApiError ? reject(answer) : resolve(answer)));
        });
      });
    send(false);
    if (!isPunctual && this.#world.chance(this.weather.repeated)) send(true);
    return promise;
  }

  /** Creates a Lease without a version; what has one is its precondition. */
  #write(written: Lease): Lease | undefined {
    const { metadata } = written;
    const { name } = metadata;
    const known = this.#leases.get(name)?.metadata;
    if (known?.resourceVersion !== metadata.resourceVersion || known?.uid !== metadata.uid) return undefined;
    if (!known) this.#createdAt.set(name, this.#world.now);
    this.#version += 1;
    const uid = known?.uid ?? `uid-${this.#version}`;
    const stored = { ...written, metadata: { ...metadata, uid, resourceVersion: String(this.#version) } };
    this.#leases.set(name, stored);
    this.#changed('applied', stored);
    return stored;
  }

  #delete(name: string, { uid, resourceVersion }: DeleteOptions['preconditions'] = {}): boolean {
    const known = this.#leases.get(name);
    if (!known || known.metadata.uid !== uid || known.metadata.resourceVersion !== resourceVersion) return false;
    this.#leases.delete(name);
    const metadata = { ...known.metadata, resourceVersion: String(++this.#version) };
    this.#changed('deleted', { ...known, metadata });
    return true;
  }

  #changed(type: 'applied' | 'deleted', lease: Lease): void {
    this.#changes.push({ type, lease });
    for (const watcher of this.#watchers) this.#notify(watcher);
  }

  /** All changes up to now, in their order, after a while. */
  #notify(watcher: Watcher): void {
    if (watcher.isAwaited) return;
    watcher.isAwaited = true;
    const { process } = watcher;
    const away = Math.max(this.#awayUntil, this.#cutOffUntil.get(process) ?? 0) - this.#world.now;
    const end = this.#changes.length;
    const deliver = () =>
      process.deliver(() => {
        const behind = (this.#behindUntil.get(process) ?? 0) - this.#world.now;
        if (behind > 0) {
          this.#world.in(behind, deliver);
          return;
        }
        watcher.isAwaited = false;
        const news = [...watcher.there, ...this.#changes.slice(watcher.next, end)];
        watcher.there = [];
        watcher.next = end;
        for (const { type, lease } of news) watcher.report(lease, type === 'deleted');
        if (watcher.next < this.#changes.length) this.#notify(watcher);
      });
    this.#world.in(Math.max(0, away) + this.#delay(), deliver);
  }

  #isAway(process: Process): boolean {
    return this.#world.now < Math.max(this.#awayUntil, this.#cutOffUntil.get(process) ?? 0);
  }

  #isMuted(process: Process, { metadata: { name } }: Lease): boolean {
    return name.includes('-replica-') && this.#world.now < (this.#mutedUntil.get(process) ?? 0);
  }

  #delay(isPunctual = false): number {
    const { delayMs, leastMs = 1, late } = this.weather;
    if (!isPunctual && this.#world.chance(late)) return 60_000 * this.#world.random();
    return leastMs + delayMs * this.#world.random();
  }
}
