/**
 * client-go's leader election: of the processes that name the same Lease on the hub, one at a time leads. Clocks of two machines are
 * never compared. A process that waits counts from the moment when it saw the last change. The holder counts from the moment before its
 * last successful request. So the holder always ends first.
 */
import { FleetError } from '../errors/index.ts';
import { reasonOf } from '../observability/callbacks.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import { parseOptionsWith } from '../options/option-schemas.ts';
import { pause } from '../util/abortable.ts';
import { codeFieldOf } from '../util/guards.ts';
import { Wait } from './clock.ts';
import { guard } from './guard.ts';
import {
  type ElectionCallbacks,
  type ElectionSettings,
  electionSchema,
  jitter,
  type LeaderElectionOptions,
  type LeaderElectionRun,
  runSchema,
} from './leader-election-options.ts';
import { LeaseView, uniqueIdentity } from './lease.ts';
import { Leases, leaseAdvice, leaseClient } from './leases.ts';
import { emit } from './telemetry.ts';

/**
 * Leader election on a Lease, for what must run once in a fleet. The record and the rules are client-go's: programs in Go and
 * this one can contend for the same Lease. A leader stops `renewDeadlineMs` after the start of its last successful renewal,
 * before anybody else begins.
 *
 * @example
 * const election = new LeaderElection({ hub, namespace: 'fleet-system', name: 'reports' });
 * await election.run({ signal, onStartedLeading: (signal) => writeReports(signal), onStoppedLeading: () => console.warn('lost') });
 */
export class LeaderElection {
  readonly identity: string;
  readonly #settings: ElectionSettings;
  readonly #leases: Leases;
  readonly #view: LeaseView;
  readonly #wait: Wait;
  readonly #warnings: WarningLimiter;
  /** Of the run that goes on. */
  #callbacks: ElectionCallbacks | undefined;
  #leads = false;
  /** The clock's uptime until which this process holds the Lease, unless it is renewed. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** The last leader that `onNewLeader` was called with. */
  #reported: string | undefined;
  #problem: string | undefined;

  /** Throws a `ConfigurationError` that names every bad option. Nothing begins before `run`. */
  constructor(options: LeaderElectionOptions) {
    this.#settings = parseOptionsWith(electionSchema, options);
    const { hub, namespace, name, identity, clock, logger, leaseDurationMs, renewDeadlineMs } = this.#settings;
    this.identity = identity ?? uniqueIdentity();
    this.#wait = new Wait(clock);
    this.#warnings = new WarningLimiter({ logger, clock: () => clock.uptime() });
    this.#view = new LeaseView(name, leaseDurationMs, clock);
    this.#leases = new Leases(leaseClient(hub, namespace), {
      clock,
      // As client-go's. A renewal that hangs leaves time for another.
      limitMs: renewDeadlineMs / 2,
      advice: leaseAdvice('get, create and update', namespace),
    });
    this.#report(false);
  }

  /** The identity of the last leader that was seen; it may have ended since. `undefined` before any was seen. */
  get leader(): string | undefined {
    return this.#view.holder;
  }

  /** This process leads, at this moment. */
  get isLeader(): boolean {
    return this.#leads && this.#isHeld;
  }

  /** This process holds the Lease, and no other one does. True at this moment only. */
  get #isHeld(): boolean {
    return this.#settings.clock.uptime() < this.#heldUntil;
  }

  /**
   * Contends for the Lease, leads, and resolves when it leads no more: `signal` has aborted, or the Lease was lost. By then the
   * work has ended, so it may be called again. It continues whatever the hub answers. Rejects with what `onStartedLeading` throws,
   * when the Lease has been given away.
   */
  async run(options: LeaderElectionRun): Promise<void> {
    const { signal = new AbortController().signal, ...callbacks } = parseOptionsWith(runSchema, options);
    if (this.#callbacks)
      throw new FleetError('FLEET_CLOSED', `run of LeaderElection ${this.#settings.name} goes on already`);
    this.#callbacks = callbacks;
    try {
      if (await this.#acquire(signal)) await this.#lead(signal, callbacks);
    } finally {
      this.#callbacks = undefined;
    }
  }

  /** Resolves with whether it leads, which it does unless the signal aborts. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, retryPeriodMs } = this.#settings;
    while (!signal.aborted) {
      const held = await this.#try(async () => {
        await this.#look();
        return !signal.aborted && this.#hold();
      });
      if (held && !signal.aborted) return true;
      // The signal aborted while the Lease was being taken.
      if (held) await this.#release();
      await pause(retryPeriodMs * (1 + jitter * Math.random()), signal, clock).catch(() => undefined);
    }
    return false;
  }

  async #lead(signal: AbortSignal, { onStartedLeading, onStoppedLeading }: ElectionCallbacks): Promise<void> {
    const { clock, logger } = this.#settings;
    const lost = new AbortController();
    const renewal = new AbortController();
    let hasEnded = false;
    let hasFailed = false;
    this.#report(true);
    const work = (async () => onStartedLeading(AbortSignal.any([signal, lost.signal])))();
    work.then(
      () => {
        hasEnded = true;
        this.#wait.wake();
      },
      () => {
        hasFailed = true;
        this.#wait.wake();
      },
    );
    signal.addEventListener('abort', this.#wait.wake, { once: true });
    const attempts = this.#renew(renewal.signal);
    // The work may return early, and go on after its signal aborted.
    while (!hasFailed && !(hasEnded && signal.aborted)) {
      if (!this.#isHeld) {
        lost.abort(this.#lossOf());
        break;
      }
      await this.#wait.for(this.#heldUntil - clock.uptime());
    }
    signal.removeEventListener('abort', this.#wait.wake);
    this.#report(false);
    if (onStoppedLeading) guard(logger, this.#fields, 'onStoppedLeading', onStoppedLeading);
    renewal.abort();
    await Promise.allSettled([work, attempts]);
    await this.#release();
    await work;
  }

  /** Until the signal aborts. */
  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs } = this.#settings;
    for (let pauseMs = retryPeriodMs; ; ) {
      await pause(pauseMs, signal, clock).catch(() => undefined);
      if (signal.aborted) return;
      const start = clock.uptime();
      const held = await this.#try(() => this.#hold());
      // Counted from the start of one that failed, as in client-go: one that hung is followed by the next at once.
      pauseMs = held ? retryPeriodMs : retryPeriodMs - (clock.uptime() - start);
    }
  }

  async #release(): Promise<void> {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#changed();
    try {
      for (const isLast of [false, true]) {
        const { lease, holder } = this.#view;
        if (!lease || holder !== this.identity) return;
        if (await this.#leases.release(this.#view, lease)) return;
        if (!isLast) await this.#look();
      }
      throw new Error('others changed it at each attempt to release it');
    } catch (error) {
      this.#settings.logger.warn(
        { ...this.#fields, ...codeFieldOf(error) },
        `the Lease was not released, so others wait until it expires: ${reasonOf(error)}`,
      );
    }
  }

  async #try(attempt: () => Promise<boolean>): Promise<boolean> {
    const { name } = this.#settings;
    const subject = { name, fields: this.#fields };
    try {
      const held = await attempt();
      this.#problem = undefined;
      this.#warnings.clear(subject, 'lease', 'the Lease can be acquired and renewed again');
      return held;
    } catch (error) {
      this.#problem = reasonOf(error);
      const message = `the Lease cannot be acquired or renewed at the moment: ${this.#problem}`;
      this.#warnings.add({ name, fields: { ...this.#fields, ...codeFieldOf(error) } }, 'lease', { message });
      return false;
    }
  }

  /** No other process holds it. Where it is gone, only its holder may write it again at once: others may have held it since. */
  get #mayTake(): boolean {
    const { lease, holder, isLive, wasSeen } = this.#view;
    return this.#isHeld || (lease !== undefined && holder === this.identity) || !isLive || !wasSeen;
  }

  async #look(): Promise<void> {
    await this.#leases.look(this.#view);
    this.#changed();
  }

  /**
   * Takes it if no other process holds it, or renews it. `false` if another process holds it, or the answer came too late.
   * Rejects with the failure of a request; the server may have done it all the same, which the next attempt finds out.
   */
  async #hold(): Promise<boolean> {
    const { clock, renewDeadlineMs } = this.#settings;
    for (const isLast of [false, true]) {
      if (!this.#mayTake) return false;
      const start = clock.uptime();
      if (await this.#leases.hold(this.#view, this.#view.lease, this.identity)) {
        this.#heldUntil = start + renewDeadlineMs;
        this.#changed();
        return this.#isHeld;
      }
      if (!isLast) await this.#look();
    }
    return false;
  }

  /** The Lease may have another holder. */
  #changed(): void {
    const { leader } = this;
    if (leader !== this.identity) this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#wait.wake();
    if (leader === undefined || leader === this.#reported) return;
    this.#reported = leader;
    const { onNewLeader } = this.#callbacks ?? {};
    if (onNewLeader) guard(this.#settings.logger, this.#fields, 'onNewLeader', () => onNewLeader(leader));
  }

  #lossOf(): FleetError {
    const { leader } = this;
    const why =
      leader === undefined || leader === this.identity
        ? `it could not be renewed for ${this.#settings.renewDeadlineMs} ms${this.#problem === undefined ? '' : `: ${this.#problem}`}`
        : `${leader} holds it`;
    const message = `${this.identity} no longer leads: it lost Lease ${this.#fields.lease}: ${why}`;
    this.#settings.logger.warn({ ...this.#fields, code: 'LEASE_LOST' }, message);
    return new FleetError('LEASE_LOST', message);
  }

  #report(leading: boolean): void {
    const { name, metrics } = this.#settings;
    this.#leads = leading;
    emit(metrics?.observer, 'leader', { name, identity: this.identity, leading });
    this.#settings.logger.debug?.(this.#fields, `${this.identity} ${leading ? 'leads' : 'does not lead'}`);
  }

  get #fields(): { readonly lease: string } {
    return { lease: `${this.#settings.namespace}/${this.#settings.name}` };
  }
}
