/** client-go's leader election: of the processes that name the same Lease on the hub, one at a time leads. */

import { z } from 'zod';
import { FleetError } from '../errors/index.ts';
import { reasonOf } from '../observability/callbacks.ts';
import type { Logger } from '../observability/logger.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import { milliseconds, namespace, parseOptionsWith, signal, text } from '../options/option-schemas.ts';
import type { RestConfig } from '../rest/rest-config.ts';
import { pause } from '../util/abortable.ts';
import { codeFieldOf } from '../util/guards.ts';
import { type Clock, Wait } from './clock.ts';
import { guard } from './guard.ts';
import { uniqueIdentity } from './lease/lease.ts';
import { LeaseLock } from './lease/lease-lock.ts';
import { Leases, leaseAdvice, leaseClient } from './lease/leases.ts';
import type { FleetMetrics } from './metrics.ts';
import { fleetShape, functionOf, leaseName } from './option-schemas.ts';
import { emit } from './telemetry.ts';

/** Options of `new LeaderElection`; each is validated at construction. */
export interface LeaderElectionOptions {
  /** The API server that has the Lease: `RestConfig.fromDefault()`. */
  readonly hub: RestConfig;
  readonly namespace: string;
  /** Of the Lease. All programs that name the same Lease contend for it, in any language. */
  readonly name: string;
  /** Unique among the processes that contend. Default: `POD_NAME` or the host's name, and something random. */
  readonly identity?: string | undefined;
  /** Milliseconds, whole seconds, that others wait after the last change that they saw: 1_000 or more. Default: 15_000. */
  readonly leaseDurationMs?: number | undefined;
  /** Milliseconds after its last successful renewal in which a leader gives up: 1 or more. Default: 10_000. */
  readonly renewDeadlineMs?: number | undefined;
  /** Milliseconds between two attempts: 1 or more. Default: 2_000. */
  readonly retryPeriodMs?: number | undefined;
  /** Default: warnings go to stderr. */
  readonly logger?: Logger | undefined;
  /** `leader_election_master_status`. */
  readonly metrics?: FleetMetrics | undefined;
  /** @internal For tests. */
  readonly clock?: Clock | undefined;
}

/** Options of `LeaderElection.run`. */
export interface LeaderElectionRun {
  /** Ends it: the work's signal aborts, and when the work has ended the Lease is released. The next leader begins at once. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The work of a leader. Its signal aborts when the work has to end, because `signal` aborted or the Lease is lost. May return
   * before. A process that was stopped for a while asks `isLeader`, which looks at the clock.
   */
  readonly onStartedLeading: (signal: AbortSignal) => unknown;
  /** Called when this process no longer leads. */
  readonly onStoppedLeading?: (() => unknown) | undefined;
  /** Called with each new leader that is seen, this process included. */
  readonly onNewLeader?: ((identity: string) => unknown) | undefined;
}

/** As client-go has it: up to this much longer, so that contenders do not try together. */
const jitter = 1.2;
const seconds = 'must be whole seconds in milliseconds: 15_000 for 15 s';

const electionSchema = z
  .strictObject({
    ...fleetShape,
    namespace,
    name: leaseName,
    identity: text('a text that no other process has').optional(),
    leaseDurationMs: milliseconds(1_000).multipleOf(1_000, { error: seconds }).default(15_000),
    renewDeadlineMs: milliseconds(1).default(10_000),
    retryPeriodMs: milliseconds(1).default(2_000),
  })
  .check(({ value: { leaseDurationMs, renewDeadlineMs, retryPeriodMs }, issues }) => {
    const refuse = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], message, input: renewDeadlineMs });
    if (leaseDurationMs <= renewDeadlineMs)
      refuse('renewDeadlineMs', `must be less than leaseDurationMs (${leaseDurationMs})`);
    if (renewDeadlineMs <= retryPeriodMs * jitter)
      refuse(
        'retryPeriodMs',
        `must be less than ${(renewDeadlineMs / jitter).toFixed(0)}: renewDeadlineMs / ${jitter}`,
      );
  });

const runSchema = z.strictObject({
  signal,
  onStartedLeading: functionOf<(signal: AbortSignal) => unknown>('that does the work of a leader'),
  onStoppedLeading: functionOf<() => unknown>('').optional(),
  onNewLeader: functionOf<(identity: string) => unknown>('that takes an identity').optional(),
});

type ElectionSettings = z.output<typeof electionSchema>;
type ElectionCallbacks = Omit<z.output<typeof runSchema>, 'signal'>;

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
  readonly #lock: LeaseLock;
  readonly #wait: Wait;
  readonly #warnings: WarningLimiter;
  /** Of the run that goes on. */
  #callbacks: ElectionCallbacks | undefined;
  #leads = false;
  /** The last leader that `onNewLeader` was called with. */
  #reported: string | undefined;
  /** Why the last attempt failed. */
  #problem: string | undefined;

  /** Throws a `ConfigurationError` that names every bad option. Nothing begins before `run`. */
  constructor(options: LeaderElectionOptions) {
    this.#settings = parseOptionsWith(electionSchema, options);
    const { hub, namespace, name, identity, clock, logger, leaseDurationMs, renewDeadlineMs } = this.#settings;
    this.identity = identity ?? uniqueIdentity();
    this.#wait = new Wait(clock);
    this.#warnings = new WarningLimiter({ logger, clock: () => clock.uptime() });
    this.#lock = new LeaseLock({
      leases: new Leases(leaseClient(hub, namespace), {
        clock,
        // As client-go's. A renewal that hangs leaves time for another.
        limitMs: renewDeadlineMs / 2,
        advice: leaseAdvice('get, create and update', namespace),
      }),
      name,
      identity: this.identity,
      durationMs: leaseDurationMs,
      deadlineMs: renewDeadlineMs,
      clock,
      changed: () => this.#changed(),
    });
    this.#report(false);
  }

  /** The identity of the last leader that was seen; it may have ended since. `undefined` before any was seen. */
  get leader(): string | undefined {
    return this.#lock.holder;
  }

  /** This process leads, at this moment. */
  get isLeader(): boolean {
    return this.#leads && this.#lock.isHeld;
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
        await this.#lock.look();
        return !signal.aborted && this.#lock.hold();
      });
      if (held && signal.aborted) {
        // The signal aborted while the Lease was being taken.
        await this.#release();
        return false;
      }
      if (held) return true;
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
    const settled = work.then(
      () => {
        hasEnded = true;
      },
      () => {
        hasFailed = true;
      },
    );
    settled.then(this.#wait.wake);
    signal.addEventListener('abort', this.#wait.wake, { once: true });
    const attempts = this.#renew(renewal.signal);
    // The work may return early, and go on after its signal aborted.
    while (!hasFailed && !(hasEnded && signal.aborted)) {
      if (!this.#lock.isHeld) {
        lost.abort(this.#lossOf());
        break;
      }
      await this.#wait.for(this.#lock.heldUntil - clock.uptime());
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
      const held = await this.#try(() => this.#lock.hold());
      // Counted from the start of one that failed, as in client-go: one that hung is followed by the next at once.
      pauseMs = held ? retryPeriodMs : retryPeriodMs - (clock.uptime() - start);
    }
  }

  async #release(): Promise<void> {
    try {
      await this.#lock.release();
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

  /** The Lease may have another holder. */
  #changed(): void {
    this.#wait.wake();
    const { leader } = this;
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
