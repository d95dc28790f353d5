/** What a shared fleet reports of its shards and Leases: events, and lines of a log. */
import { reasonOf } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../clock.ts';
import { debug, warn } from '../guard.ts';
import { emit, type FleetObserver, type LeaseFailed } from '../telemetry.ts';
import { identityOf } from './names.ts';
import type { Shard, Taken } from './shard.ts';
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
  began({ index }: Shard, { session, seenAt }: Taken): void {
    const { clock, identity, name, observer } = this.#options;
    const from = session === undefined ? undefined : identityOf(session);
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
  ended({ index, liveHolder }: Shard, change: 'handed_over' | 'lost'): void {
    const { identity, name, observer } = this.#options;
    emit(observer, 'shard', { fleet: name, shard: index, change, owner: identity });
    if (change === 'handed_over') this.#say(debug, `shard ${index} is handed over`);
    else if (liveHolder !== undefined && identityOf(liveHolder) !== identity)
      this.#say(warn, `shard ${index} is lost: ${identityOf(liveHolder)} owns it`);
    else
      this.#say(
        debug,
        `shard ${index} is lost: the Lease of this replica was not renewed in time, or that of the shard is gone`,
      );
  }

  /** A request for a Lease failed. Warns of the first one, and again after a whole duration without failures. */
  failed(lease: LeaseFailed['lease'], error: unknown): void {
    const { clock, name, observer } = this.#options;
    const { durationMs, deadlineMs } = timingOf(this.#options.leaseDurationMs);
    const now = clock.uptime();
    const isNew = now - this.#failedAt > durationMs;
    this.#failedAt = now;
    const message = reasonOf(error);
    emit(observer, 'lease-failure', { fleet: name, lease, message });
    const consequence = `a replica stops its work when it could not renew its own for ${deadlineMs / 1_000} s`;
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
