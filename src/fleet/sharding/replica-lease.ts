/**
 * This replica's own Lease: the only clock of sharding. While it is renewed, all shards whose Leases name its session are this
 * replica's. Where another process has changed or deleted it, the session is over for ever, and the next one begins.
 */
import { within } from '../../rest/api/deadline.ts';
import type { Clock } from '../clock.ts';
import { heldSpec, holderOf, type Lease, leaseKind } from '../lease/lease.ts';
import { Wait } from '../wait.ts';
import type { LeaseSource } from './lease-source.ts';
import { identityOf, labelsOf, replicaAnnotations, sessionName } from './names.ts';
import type { Replicas } from './replicas.ts';
import type { ShardingReport } from './report.ts';
import { millisecondsTo, spread, type Timing } from './timing.ts';

export interface ReplicaLeaseContext {
  readonly leases: LeaseSource;
  /** Of the fleet. */
  readonly name: string;
  /** Of the Lease. */
  readonly leaseName: string;
  readonly identity: string;
  readonly nonce: string;
  readonly weight: 0 | 1;
  readonly clock: Clock;
  readonly timing: Timing;
  readonly random: () => number;
  readonly replicas: Replicas;
  /** Asks the server for all Leases as they are at this moment, and repairs those of its own shards. */
  read(signal: AbortSignal): Promise<void>;
  /** All that the Leases of shards name. */
  sessions(): ReadonlySet<string>;
  /** Nothing of this replica is left to release. */
  isGone(): boolean;
  /** It was renewed, or a session has ended, or is not valid at the moment. */
  changed(): void;
  readonly report: ShardingReport;
}

export class ReplicaLease {
  readonly #context: ReplicaLeaseContext;
  readonly #wait: Wait;
  /** As this session wrote it last; `undefined` before it has begun. */
  #own: Lease | undefined;
  #sessions = 0;
  #renewAt = Number.NEGATIVE_INFINITY;
  /** The clock's uptime in which its last successful renewal ends, or ended. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  #leavesSince: number | undefined;
  #cancelDeadline = () => {};

  constructor(context: ReplicaLeaseContext) {
    this.#context = context;
    this.#wait = new Wait(context.clock);
  }

  /** What Leases of this replica's shards name. */
  get session(): string {
    const { identity, nonce } = this.#context;
    return sessionName(identity, nonce, this.#sessions);
  }

  /** It may own shards, at this moment. Others believe that it does for longer. */
  get isValid(): boolean {
    return this.#context.clock.uptime() < this.#heldUntil;
  }

  get isLeaving(): boolean {
    return this.#leavesSince !== undefined;
  }

  /** Something that it waits for may have changed. */
  readonly wake = (): void => this.#wait.wake();

  /** Another process has changed something that it has to look at: it renews at once. */
  renewNow(): void {
    this.#renewAt = Number.NEGATIVE_INFINITY;
    this.wake();
  }

  /** A watch shows its own Lease: deleted, without its labels, or taken. */
  observe(lease: Lease): void {
    if (this.#own && holderOf(lease) !== this.session) this.renewNow();
  }

  /** From now on it wants nothing; `run` ends when everything has been released. */
  leave(): void {
    this.#leavesSince ??= this.#context.clock.uptime();
    this.renewNow();
  }

  /** Goes on until it leaves. */
  async run(): Promise<void> {
    try {
      while (!this.#isOver()) {
        const ms = this.#renewAt - this.#context.clock.uptime();
        if (ms <= 0) await this.#attempt();
        else await this.#wait.for(ms);
      }
    } finally {
      this.#cancelDeadline();
      await this.#remove();
    }
  }

  /** It has left, or it can release nothing any more. */
  #isOver(): boolean {
    if (this.#leavesSince === undefined) return false;
    const { clock, timing, isGone } = this.#context;
    return isGone() || !this.isValid || clock.uptime() - this.#leavesSince >= timing.durationMs;
  }

  async #attempt(): Promise<void> {
    const { clock, timing, random, report, changed } = this.#context;
    const start = clock.uptime();
    // Half of the time that is left to the deadline: a hub that is back meanwhile is asked once more.
    const limitMs = this.isValid ? Math.max((this.#heldUntil - start) / 2, timing.shortestMs) : timing.requestTimeoutMs;
    const message = `no answer for ${(limitMs / 1_000).toFixed(1)} s`;
    this.#renewAt = Number.POSITIVE_INFINITY;
    let retryMs = timing.renewMs;
    try {
      const isRenewed = await within(clock, limitMs, message, (signal) => this.#renew(signal));
      if (isRenewed) {
        this.#heldUntil = start + timing.deadlineMs;
        this.#watchDeadline();
        report.succeeded('replica');
      }
    } catch (error) {
      retryMs = timing.retryMs;
      report.failed('replica', error);
    }
    // A change that it has to look at may have come meanwhile.
    this.#renewAt = Math.min(this.#renewAt, clock.uptime() + spread(retryMs, random));
    changed();
  }

  /** Whether it was renewed. Only when all Leases have been read too is the session valid for longer. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const { replicas, read } = this.#context;
    if (!(await this.#write(signal)) && !(await this.#begin(signal))) return false;
    // It may not have seen the others since its last renewal, though they live.
    if (!this.isValid) replicas.startAgain();
    await read(signal);
    return true;
  }

  /** Renews it. `false` where the session is over, or has not begun. */
  async #write(signal: AbortSignal): Promise<boolean> {
    const { leases, leaseName } = this.#context;
    if (!this.#own) return false;
    if (await this.#put(this.#own, signal)) return true;
    // Its own write, whose answer was lost, or an edit. Where it still names the session, no other process has ended it.
    const now = await leases.get(leaseName, signal);
    if (now && holderOf(now) === this.session) {
      if (await this.#put(now, signal)) return true;
      throw new Error('others changed it at each attempt to renew it');
    }
    this.#endSession();
    return false;
  }

  /** Begins a session, where no other one of this identity may live. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    const { leases, leaseName, identity, replicas, read, sessions, report } = this.#context;
    await read(signal);
    const view = replicas.viewOf(leaseName);
    const named = [...sessions()].filter((session) => identityOf(session) === identity);
    // Where its Lease was deleted by hand, only those of its shards show that the other one may live.
    const rival = [...named, view.holder ?? ''].find((session) => !this.#isOwn(session) && replicas.isLive(session));
    if (rival) {
      report.duplicated(rival);
      return false;
    }
    // An attempt whose answer is lost may be done late. So each has another name.
    this.#sessions += 1;
    if (await this.#put(view.lease, signal)) return true;
    const now = await leases.get(leaseName, signal);
    if (now) view.observe(now);
    else view.acceptAbsence();
    throw new Error('another process changed it');
  }

  get leaseName(): string {
    return this.#context.leaseName;
  }

  async #put(known: Lease | undefined, signal: AbortSignal): Promise<boolean> {
    const { leases, replicas, name, leaseName, identity, weight, clock, timing } = this.#context;
    const { labels, annotations, ...rest } = known?.metadata ?? { name: leaseName };
    const facts = replicaAnnotations({ identity, weight: this.isLeaving ? 0 : weight });
    const metadata = {
      ...rest,
      labels: { ...labels, ...labelsOf(name, 'replica') },
      annotations: { ...annotations, ...facts },
    };
    const spec = heldSpec(known, this.session, { clock, durationMs: timing.durationMs });
    const object = { ...leaseKind, metadata, spec };
    const written = await (known ? leases.update(object, signal) : leases.create(object, signal));
    if (!written) return false;
    this.#own = written;
    replicas.viewOf(leaseName).observe(written);
    return true;
  }

  #isOwn(session: string): boolean {
    const { identity, nonce } = this.#context;
    return session.startsWith(sessionName(identity, nonce, 0).slice(0, -1));
  }

  #endSession(): void {
    this.#own = undefined;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#context.changed();
  }

  /** Its terms end at the deadline. The session may become valid again, if no other replica has ended it meanwhile. */
  #watchDeadline(): void {
    const { clock, changed } = this.#context;
    this.#cancelDeadline();
    // A timer may come a little early.
    this.#cancelDeadline = clock.after(millisecondsTo(this.#heldUntil, clock), () =>
      this.isValid ? this.#watchDeadline() : changed(),
    );
  }

  async #remove(): Promise<void> {
    const { clock, timing, leases } = this.#context;
    const own = this.#own;
    if (!own) return;
    this.#endSession();
    await within(clock, timing.requestTimeoutMs, 'no answer', (signal) => leases.delete(own, signal)).catch(
      () => undefined,
    );
  }
}
