/** What a shared fleet tells of its shards and Leases: events, and lines of a log. */
import { reasonOf } from '../../callbacks.ts';
import type { Logger } from '../../logger.ts';
import type { Clock } from '../clock.ts';
import { debug, warn } from '../guard.ts';
import { emit, type FleetObserver, type LeaseFailed } from '../telemetry.ts';
import { identityOf } from './names.ts';
import type { Shard } from './shard.ts';
import { timingOf } from './timing.ts';

export interface ReportOptions {
  /** Of the fleet. */
  readonly name: string;
  /** Of this replica. */
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
}

export class ShardingReport {
  readonly #options: ReportOptions;
  /** The clock's uptime in which a request for a Lease failed last. */
  #failedAt = Number.NEGATIVE_INFINITY;
  /** Another process with this identity. */
  #namesake: string | undefined;

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  /** A shard has become this replica's. */
  began({ index, lock, takenFrom: { holder, seenAt } }: Shard): void {
    const { clock, identity, name, observer } = this.#options;
    const from = holder === undefined || holder === lock.identity ? undefined : identityOf(holder);
    emit(observer, 'shard', {
      fleet: name,
      shard: index,
      change: from === undefined ? 'taken' : 'taken_over',
      owner: identity,
      ...(from === undefined ? {} : { from }),
      ...(seenAt === undefined ? {} : { unownedMs: clock.uptime() - seenAt }),
    });
    this.#say(debug, `shard ${index} is ${from === undefined ? 'taken' : `taken over from ${from}`}`);
  }

  /** A shard is not this replica's any more. */
  ended({ index, lock }: Shard, change: 'handed_over' | 'lost'): void {
    const { identity, name, observer } = this.#options;
    emit(observer, 'shard', { fleet: name, shard: index, change, owner: identity });
    if (change === 'handed_over') this.#say(debug, `shard ${index} is handed over`);
    else if (lock.holder !== lock.identity && lock.holder !== undefined)
      this.#say(warn, `shard ${index} is lost: ${identityOf(lock.holder)} has it`);
    else this.#say(debug, `shard ${index} is lost: its Lease could not be renewed in time`);
  }

  /**
   * A request for a Lease failed. Warns once for all Leases. The trouble is over when no request has failed for a whole
   * duration: retries come sooner.
   */
  failed(lease: LeaseFailed['lease'], error: unknown): void {
    const { clock, name, observer } = this.#options;
    const { durationMs, deadlineMs } = timingOf(this.#options.leaseDurationMs);
    const now = clock.uptime();
    const isNew = now - this.#failedAt > durationMs;
    this.#failedAt = now;
    const message = reasonOf(error);
    emit(observer, 'lease-failure', { fleet: name, lease, message });
    const consequence = `its shards are let go after ${deadlineMs / 1_000} s`;
    const line = `a Lease of fleet ${name} cannot be written or read at the moment (${consequence}): ${message}`;
    this.#say(isNew ? warn : debug, line);
  }

  /** Another process has the same identity. */
  duplicated(holder: string): void {
    if (this.#namesake === holder) return;
    this.#namesake = holder;
    const advice = 'give each replica its own, or wait until it has ended';
    this.#say(warn, `another process (${holder}) has the identity ${identityOf(holder)} and lives: ${advice}`);
  }

  #say(say: typeof warn, message: string): void {
    const { name, identity, logger } = this.#options;
    say(logger, { fleet: name, identity }, message);
  }
}
