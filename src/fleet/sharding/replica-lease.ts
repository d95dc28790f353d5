/**
 * This replica's own Lease: the only clock of sharding. While it is renewed, all shards whose Leases name its session are this
 * replica's. If another process has changed or deleted it, the session is over for ever, and the next one begins.
 */
import { ApiError } from '../../errors/index.ts';
import { within } from '../../rest/api/api-server.ts';
import { abortable } from '../../util/abortable.ts';
import { Wait } from '../clock.ts';
import { holderOf, type Lease } from '../lease.ts';
import {
  identityOf,
  labelsOf,
  millisecondsTo,
  replicaAnnotations,
  type ShardingContext,
  sessionName,
  spread,
} from './names.ts';
import type { Replicas } from './replicas.ts';
import type { ShardingReport } from './report.ts';

interface ReplicaLeaseContext extends ShardingContext {
  readonly replicas: Replicas;
  /** Asks the server for all Leases as they are at this moment, and repairs those of its own shards. */
  read(): Promise<void>;
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
  /** The session has been written, and no other process has ended it as far as is known. */
  #isBegun = false;
  #sessions = 0;
  #renewAt = Number.NEGATIVE_INFINITY;
  /** The clock's uptime in which its last successful renewal began. */
  #renewedAt = Number.NEGATIVE_INFINITY;
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

  /** The clock's uptime in which its last successful renewal ends, or ended. */
  get #heldUntil(): number {
    return this.#renewedAt + this.#context.timing.deadlineMs;
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
    if (this.#isBegun && holderOf(lease) !== this.session) this.renewNow();
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
    this.#renewAt = Number.POSITIVE_INFINITY;
    let retryMs = timing.retryMs;
    try {
      if (this.#isBegun) await this.#patientlyRenew(start);
      if (!this.#isBegun && !(await this.#begin())) retryMs = timing.renewMs;
    } catch (error) {
      // A request that is waited for no longer may succeed yet.
      const isTimeout = error instanceof ApiError && error.code === 'API_TIMEOUT';
      if (!this.isValid || !isTimeout) report.failed('replica', error);
    }
    // Counted from its start: if the hub is slow, the next one begins at once.
    const next =
      this.#renewedAt >= start
        ? this.#renewedAt + spread(timing.renewMs, random)
        : clock.uptime() + spread(retryMs, random);
    // A change that it has to look at may have come meanwhile.
    this.#renewAt = Math.min(this.#renewAt, next);
    changed();
  }

  /**
   * Waits for half of the time that is left to the deadline, so that a hub that is back meanwhile, or another connection, is asked once
   * more. The renewal continues: a hub that is only slow answers in the end, and that counts from `start`.
   */
  async #patientlyRenew(start: number): Promise<void> {
    const { clock, timing } = this.#context;
    const half = Math.max((this.#heldUntil - start) / 2, timing.shortestMs);
    const limitMs = this.isValid ? half : timing.patienceMs;
    const message = `PUT Lease ${this.#context.replicas.own.name}: no answer for ${(limitMs / 1_000).toFixed(1)} s`;
    await within(clock, limitMs, message, (signal) => abortable(() => this.#renew(start), signal));
  }

  /** Writes it on top of the newest version that an answer or the watch has shown. Only when all Leases have been read too is it renewed. */
  async #renew(start: number): Promise<void> {
    const { leases, read } = this.#context;
    const { own: view } = this.#context.replicas;
    const { session } = this;
    const known = view.lease;
    const isOurs = () => view.lease !== undefined && holderOf(view.lease) === session;
    let isWritten = false;
    if (isOurs()) [isWritten] = await Promise.all([this.#put(known), read()]);
    // Its own write, whose answer is late or lost, or an edit. If it still names the session, no other process has ended it.
    if (!isWritten && isOurs() && view.lease === known) await leases.look(view);
    // Another attempt may have found that it is over.
    if (!this.#isBegun || this.session !== session) return;
    if (!isOurs()) this.#endSession();
    else if (isWritten) this.#succeed(start);
  }

  #succeed(start: number): void {
    const { replicas, report, changed } = this.#context;
    // It may not have seen the others since its last renewal, though they live.
    if (!this.isValid) replicas.startAgain();
    this.#renewedAt = Math.max(this.#renewedAt, start);
    this.#watchDeadline();
    if (this.isValid) report.succeeded('replica');
    changed();
  }

  /** Begins a session. Returns false if another one of this identity may live. */
  async #begin(): Promise<boolean> {
    const { clock, leases, identity, replicas, read, sessions, report } = this.#context;
    await read();
    const { own: view } = replicas;
    const named = [...sessions()].filter((session) => identityOf(session) === identity);
    // If its Lease was deleted by hand, only those of its shards show that the other one may live.
    const rival = [...named, view.holder ?? ''].find((session) => !this.#isOwn(session) && replicas.isLive(session));
    if (rival) {
      report.duplicated(rival);
      return false;
    }
    // An attempt whose answer is lost may be done late. So each has another name.
    this.#sessions += 1;
    const start = clock.uptime();
    const [isWritten] = await Promise.all([this.#put(view.lease), read()]);
    if (isWritten) {
      this.#isBegun = true;
      this.#succeed(start);
      return true;
    }
    await leases.look(view);
    throw new Error('another process changed it');
  }

  /** Whether the server has it like this now. */
  #put(known: Lease | undefined): Promise<boolean> {
    const { leases, replicas, name, identity, weight } = this.#context;
    const annotations = replicaAnnotations({ identity, weight: this.isLeaving ? 0 : weight });
    return leases.hold(replicas.own, known, this.session, { labels: labelsOf(name, 'replica'), annotations });
  }

  #isOwn(session: string): boolean {
    const { identity, nonce } = this.#context;
    return session.startsWith(sessionName(identity, nonce, 0).slice(0, -1));
  }

  #endSession(): void {
    this.#isBegun = false;
    this.#renewedAt = Number.NEGATIVE_INFINITY;
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
    const { leases, replicas } = this.#context;
    const { lease } = replicas.own;
    if (!this.#isBegun || !lease || holderOf(lease) !== this.session) return;
    this.#endSession();
    await leases.delete(lease).catch(() => undefined);
  }
}
