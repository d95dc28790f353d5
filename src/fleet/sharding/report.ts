/** What a shared fleet reports of its shards and Leases: as events, and in the log. */
import { reasonOf } from '../../observability/callbacks.ts';
import { type Subject, WarningLimiter } from '../../observability/warning-limiter.ts';
import { emit, type FleetEvents } from '../telemetry.ts';
import { identityOf, type ShardingContext } from './names.ts';

/** Whose Lease a request was for; each kind is warned about by itself. */
type LeaseKind = FleetEvents['lease-failure']['lease'] | 'dead replica';

/** How a shard became this replica's. */
export interface Taken {
  /** The session that had it until it ended; `undefined` if it was free. */
  readonly session?: string | undefined;
  /** The clock's uptime in which the last sign of the owner was seen, or in which it was released. */
  readonly seenAt?: number | undefined;
}

export class ShardingReport {
  readonly #context: ShardingContext;
  readonly #warnings: WarningLimiter;
  /** Of this replica's own Lease, since it was last renewed: a warning each half minute, as the replica does nothing meanwhile. */
  #unrenewed: { readonly since: number; attempts: number; halfMinutes: number } | undefined;

  constructor(context: ShardingContext) {
    const { logger, clock } = context;
    this.#context = context;
    this.#warnings = new WarningLimiter({ logger, clock: () => clock.uptime() });
  }

  /** A shard has become this replica's. */
  began(index: number, { session, seenAt }: Taken): void {
    const { clock, identity, name, observer } = this.#context;
    const from = session === undefined ? undefined : identityOf(session);
    emit(observer, 'shard', {
      fleet: name,
      shard: index,
      change: from === undefined ? 'taken' : 'taken_over',
      owner: identity,
      ...(from === undefined ? {} : { from }),
      ...(seenAt === undefined ? {} : { unownedMs: clock.uptime() - seenAt }),
    });
    this.#say('debug', `shard ${index} is ${from === undefined ? 'taken' : `taken over from ${from}`}`);
  }

  /** A shard is no longer this replica's. */
  ended(index: number, liveHolder: string | undefined, change: 'handed_over' | 'lost'): void {
    const { identity, name, observer } = this.#context;
    emit(observer, 'shard', { fleet: name, shard: index, change, owner: identity });
    if (change === 'handed_over') this.#say('debug', `shard ${index} is handed over`);
    else if (liveHolder !== undefined && identityOf(liveHolder) !== identity)
      this.#say('warn', `shard ${index} is lost: ${identityOf(liveHolder)} owns it`);
    else
      this.#say(
        'debug',
        `shard ${index} is lost: the Lease of this replica was not renewed in time, or that of the shard is gone`,
      );
  }

  failed(lease: LeaseKind, error: unknown): void {
    const { clock, timing, name, observer } = this.#context;
    const reason = reasonOf(error);
    emit(observer, 'lease-failure', { fleet: name, lease: lease === 'shard' ? 'shard' : 'replica', message: reason });
    const consequence = `a replica stops its work when it could not renew its own for ${timing.deadlineMs / 1_000} s`;
    const message = `a Lease of fleet ${name} cannot be written or read at the moment (${consequence}): ${reason}`;
    this.#warnings.add(this.#subject(lease), 'lease', { message });
    if (lease !== 'replica') return;
    this.#unrenewed ??= { since: clock.uptime(), attempts: 0, halfMinutes: 0 };
    const attempts = ++this.#unrenewed.attempts;
    const seconds = Math.round((clock.uptime() - this.#unrenewed.since) / 1_000);
    const halfMinutes = Math.floor(seconds / 30);
    if (halfMinutes === this.#unrenewed.halfMinutes) return;
    this.#unrenewed.halfMinutes = halfMinutes;
    this.#say('warn', `this replica has not renewed its Lease for ${seconds} s, in ${attempts} attempts: ${reason}`);
  }

  succeeded(lease: LeaseKind): void {
    if (lease === 'replica') this.#unrenewed = undefined;
    this.#warnings.clear(this.#subject(lease), 'lease', `Leases of fleet ${this.#context.name} can be written again`);
  }

  /** Another process has the same identity. */
  duplicated(holder: string): void {
    const advice = 'give each replica its own, or wait until it has ended';
    const message = `another process (${holder}) has the identity ${identityOf(holder)} and lives: ${advice}`;
    this.#warnings.add(this.#subject('replica'), 'identity', { key: holder, message });
  }

  #subject(name: string): Subject {
    return { name, fields: this.#fields };
  }

  #say(level: 'debug' | 'warn', message: string): void {
    this.#context.logger[level]?.(this.#fields, message);
  }

  get #fields(): { readonly fleet: string; readonly identity: string } {
    const { name, identity } = this.#context;
    return { fleet: name, identity };
  }
}
