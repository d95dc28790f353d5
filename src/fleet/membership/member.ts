/**
 * One ClusterProfile of the fleet, as long as it is there: decides when its cluster is engaged, tried again, disengaged.
 * One thing is done at a time, and what should be is looked at again after each; nothing here waits for another member.
 */

import { type BackoffLimits, backoffMs } from '../../backoff.ts';
import { reasonOf } from '../../callbacks.ts';
import { CredentialsError } from '../../errors.ts';
import type { Cluster } from '../cluster.ts';
import { debug, warn } from '../guard.ts';
import type { FleetProfile } from '../profile.ts';
import { emit } from '../telemetry.ts';
import { Wait } from '../wait.ts';
import { accessOf, forgetFailure } from './access.ts';
import { type Basis, Engagement, type EngagementContext } from './engagement.ts';
import { type Failure, failureOf } from './failure.ts';
import type { Verdict } from './membership.ts';
import { shardLost, type Term } from './ownership.ts';
import { Health, type Readiness } from './readiness.ts';
import { again, disengaged, isGivenUp, type Status, shown, troublesOf } from './status.ts';
import { watchCommand } from './watch-command.ts';

/** What every member of a fleet has in common. */
export interface MemberContext extends EngagementContext {
  readonly unhealthyGraceMs: number;
  readinessOf(profile: FleetProfile): Readiness;
  /** Nobody else has the cluster of this key; afterwards this member has it. */
  claim(key: string, member: Member): boolean;
  release(key: string, member: Member): void;
  /** The cluster is engaged: the controllers begin. */
  begin(cluster: Cluster): void;
}

/** Something to do, or to wait for. */
type Step =
  | { readonly do: 'engage'; readonly key: string; readonly term: Term | undefined }
  | { readonly do: 'disengage'; readonly engagement: Engagement; readonly why: Status }
  | { readonly do: 'wait'; readonly status?: Status; readonly ms?: number }
  | { readonly do: 'end' };

const replaced = again('PROFILE_REPLACED', 'the profile was deleted and made again');
const limits: BackoffLimits = { firstMs: 1_000, longestMs: 300_000, jitter: 0.5 };

export class Member {
  readonly name: string;
  /** Resolves when it is gone, and nothing of it goes on. */
  readonly ended: Promise<void>;
  readonly #context: MemberContext;
  #health: Health;
  readonly #wait: Wait;
  #profile: FleetProfile;
  #verdict: Verdict | undefined;
  /** Why it leaves the fleet. */
  #gone: Status | undefined;
  /** It has left. */
  #isOver = false;
  #status: Status = { state: 'Pending', reason: 'NEW', message: 'the profile has just been seen' };
  #since: number;
  /** While it begins, and while the cluster is engaged. */
  #engagement: Engagement | undefined;
  /** What happened to the engaged cluster that ends its engagement; with an error where that counts as a failure. */
  #broken: { readonly why: Status; readonly error?: unknown } | undefined;
  #failures = 0;
  #retryAt = 0;
  /** Why the last attempt failed. */
  #failure: Failure | undefined;
  /** What the profile resolved to at the last attempt. */
  #tried: string | undefined;
  /** Since the last attempt began something has changed that may make the next one better. */
  #isWorthTrying = false;
  #stopWatching = () => {};

  constructor(name: string, profile: FleetProfile, context: MemberContext) {
    this.name = name;
    this.#profile = profile;
    this.#context = context;
    this.#since = context.clock.now();
    this.#wait = new Wait(context.clock);
    this.#health = new Health(context.clock, context.unhealthyGraceMs);
    this.#health.report(context.readinessOf(profile));
    this.ended = this.#drive().catch((error: unknown) => {
      warn(
        context.logger,
        { cluster: name },
        `${name} is given up, which is a fault of this package: ${reasonOf(error)}`,
      );
    });
  }

  get status(): Status & { readonly since: number; readonly owner?: string } {
    const { owner } = { owner: undefined, ...this.#verdict };
    const { cluster } = this;
    const troubles = cluster ? troublesOf(cluster, this.#context.troubles(cluster)) : undefined;
    return { ...(troubles ?? this.#status), since: this.#since, ...(owner === undefined ? {} : { owner }) };
  }

  /** Where it is engaged. */
  get cluster(): Cluster | undefined {
    return this.#status.state === 'Engaged' ? this.#engagement?.cluster : undefined;
  }

  get isGone(): boolean {
    return this.#gone !== undefined;
  }

  /** It has been tried once, or will not be tried now. */
  get isSettled(): boolean {
    return this.#status.state !== 'Pending' && this.#status.state !== 'Engaging';
  }

  /** The hub has a newer profile, or the fleet another verdict. */
  update(profile: FleetProfile, verdict: Verdict): void {
    if (this.#isOver) return;
    const isAnother = this.#profile.metadata.uid !== profile.metadata.uid;
    this.#profile = profile;
    this.#verdict = verdict;
    if (isAnother) this.#startAgain();
    this.#stay();
    this.#health.report(this.#context.readinessOf(profile));
    // A heartbeat in the status is no reason to try again.
    if (this.#tried !== undefined && this.#tried !== this.#access()) this.#tryAtOnce();
    this.poke();
  }

  /** It is not in the fleet any more. Resolves when nothing of it goes on, unless `update` says before that it is. */
  remove(reason: string, message: string): Promise<void> {
    this.#gone ??= { state: 'Pending', reason, message };
    this.poke();
    return this.ended;
  }

  /** The providers of some access types have changed: a cluster that uses one is engaged anew, one that failed is tried. */
  providersChanged(types: ReadonlySet<string>): void {
    const provider = this.#engagement?.provider;
    if (provider !== undefined && types.has(provider)) this.#breakUp(`provider ${provider} has changed`);
    this.#tryAtOnce();
    this.poke();
  }

  /** A function that was told of the engaged cluster has failed. */
  handlerFailed(cluster: Cluster, error: unknown): void {
    if (this.cluster !== cluster || this.#broken) return;
    this.#isWorthTrying = false;
    this.#broken = { why: { state: 'Backoff', ...failureOf('HANDLERS', error) }, error };
    this.poke();
  }

  /** What happened to another profile of this name says nothing about this one. */
  #startAgain(): void {
    const { clock, unhealthyGraceMs } = this.#context;
    this.#health = new Health(clock, unhealthyGraceMs);
    this.#failures = 0;
    this.#failure = undefined;
    this.#tryAtOnce();
  }

  /** Where it was to leave the fleet it has come back. What it was may still be on its way out. */
  #stay(): void {
    const gone = this.#gone;
    this.#gone = undefined;
    if (!gone || this.#status.reason !== gone.reason) return;
    const isAnother = this.#engagement?.basis.uid !== this.#profile.metadata.uid;
    this.#setStatus(isAnother ? replaced : again('SELECTED_AGAIN', 'it was not in the fleet for a while'));
  }

  /** Something that it looks at has changed. */
  poke(): void {
    // An attempt under way is given up; what is engaged is disengaged in its turn.
    const attempt = this.#status.state === 'Engaging' ? this.#engagement : undefined;
    const why = attempt && this.#whyNot(attempt.basis);
    if (why) attempt?.abort(disengaged(this.name, why));
    this.#wait.poke();
  }

  async #drive(): Promise<void> {
    for (;;) {
      const step = this.#next();
      switch (step.do) {
        case 'engage':
          await this.#engage(step.key, step.term);
          break;
        case 'disengage':
          await this.#disengage(step.engagement, step.why);
          break;
        case 'wait':
          if (step.status) this.#setStatus(step.status);
          await this.#wait.for(step.ms);
          break;
        case 'end': {
          this.#stopWatching();
          this.#isOver = true;
          const { reason = 'GONE', message = '' } = this.#gone ?? {};
          emit(this.#context.observer, 'cluster', { cluster: this.name, state: undefined, reason, message });
          return;
        }
      }
    }
  }

  /** What is to be done now. Looks, and changes nothing. */
  #next(): Step {
    const engagement = this.#engagement;
    const verdict = this.#verdict;
    if (engagement) {
      const why = this.#whyNot(engagement.basis);
      return why ? { do: 'disengage', engagement, why } : { do: 'wait', ...this.#health.next };
    }
    if (this.#gone) return { do: 'end' };
    if (!verdict) return { do: 'wait' };
    if (!verdict.engage) return { do: 'wait', status: verdict };
    const { ready, reason, message, isInvalid } = this.#health.reported;
    if (ready !== 'yes') {
      return { do: 'wait', status: { state: isInvalid ? 'Backoff' : 'NotReady', reason, message } };
    }
    // A new verdict will come. Until then every attempt would end at once, and the next one would begin without a wait.
    if (verdict.term?.isOver) return { do: 'wait', status: { state: 'NotOwned', ...shardLost } };
    const left = this.#retryAt - this.#context.clock.uptime();
    if (this.#failure && left > 0) return { do: 'wait', status: { state: 'Backoff', ...this.#failure }, ms: left };
    return { do: 'engage', key: verdict.key, term: verdict.term };
  }

  /** Why what was engaged, or begun, must not be so any more. */
  #whyNot({ key, uid, access, term }: Basis): Status | undefined {
    const verdict = this.#verdict;
    if (this.#gone) return this.#gone;
    if (this.#broken) return this.#broken.why;
    if (verdict && !verdict.engage) return verdict;
    if (verdict && verdict.key !== key)
      return again('IDENTITY_CHANGED', `identify says ${verdict.key} now, it was ${key}`);
    if (verdict && verdict.term !== term)
      return again('OWNED_AGAIN', 'its shard was lost for a while: somebody else may have worked on it');
    if (this.#profile.metadata.uid !== uid) return replaced;
    const { reason, message } = this.#health.reported;
    if (this.#health.graceIsOver) return { state: 'NotReady', reason, message };
    if (this.#access() === access) return undefined;
    return again('PROFILE_CHANGED', 'the profile leads to another cluster, or to the same in another way');
  }

  async #engage(key: string, term: Term | undefined): Promise<void> {
    if (!this.#context.claim(key, this)) {
      const message = `another profile of ${key} is being disengaged`;
      this.#setStatus({ state: 'Pending', reason: 'WAITS_FOR_DUPLICATE', message });
      await this.#wait.for();
      return;
    }
    this.#stopWatching();
    this.#broken = undefined;
    this.#isWorthTrying = false;
    const basis = { key, uid: this.#profile.metadata.uid, access: this.#access(), term };
    this.#tried = basis.access;
    const engagement = new Engagement(this.name, basis, this.#context, {
      profile: () => this.#profile,
      entered: (stage, message) => this.#setStatus({ state: 'Engaging', reason: stage, message }),
      engaged: (cluster) => {
        this.#context.begin(cluster);
        this.#failures = 0;
        this.#failure = undefined;
        this.#setStatus({ state: 'Engaged', reason: 'ENGAGED', message: engagement.server });
      },
      providerChanged: (message) => this.#breakUp(message),
    });
    this.#engagement = engagement;
    try {
      await engagement.begin();
    } catch (error) {
      const failure = failureOf(engagement.stage, error);
      await engagement.end(disengaged(this.name, { state: 'Backoff', ...failure }));
      this.#engagement = undefined;
      // An attempt that was given up says nothing about the cluster.
      if (!isGivenUp(error)) this.#fail(failure, error, engagement);
      this.#context.release(key, this);
    }
  }

  #fail(failure: Failure, error: unknown, { command }: Engagement): void {
    const { clock, logger } = this.#context;
    this.#failures += 1;
    const asked = error instanceof CredentialsError ? (error.retryAfterMs ?? 0) : 0;
    const ms = Math.min(limits.longestMs, Math.max(asked, backoffMs(this.#failures, limits)));
    this.#retryAt = this.#isWorthTrying ? 0 : clock.uptime() + ms;
    const next = this.#isWorthTrying ? 'now' : `in ${Math.ceil(ms / 1_000)} s`;
    const message = `${this.name} cannot be engaged (${failure.reason}), next try ${next}: ${failure.message}`;
    if (this.#failure?.reason === failure.reason) debug(logger, { cluster: this.name }, message);
    else warn(logger, { cluster: this.name }, message);
    this.#failure = failure;
    this.#setStatus({ state: 'Backoff', ...failure });
    // Whatever it failed with, another file may be what mends it: a 401 is about the plugin's answer.
    if (command === undefined) return;
    this.#stopWatching = watchCommand(command, () => {
      forgetFailure(this.#context.providers, this.#profile);
      this.#tryAtOnce();
      this.poke();
    });
  }

  /** Where it has failed, or is about to. */
  #tryAtOnce(): void {
    this.#isWorthTrying = true;
    this.#retryAt = 0;
  }

  async #disengage(engagement: Engagement, why: Status): Promise<void> {
    const broken = this.#broken;
    const line = `${this.name} is disengaged (${why.reason}): ${why.message}`;
    // A change of the profile, or of who owns the cluster, is no trouble.
    const say = why.state === 'NotReady' || why.state === 'Backoff' ? warn : debug;
    say(this.#context.logger, { cluster: this.name }, line);
    this.#setStatus(why);
    await engagement.end(disengaged(this.name, why));
    this.#engagement = undefined;
    if (broken && 'error' in broken) this.#fail(failureOf('HANDLERS', broken.error), broken.error, engagement);
    this.#context.release(engagement.basis.key, this);
  }

  #breakUp(message: string): void {
    if (!this.#engagement) return;
    this.#broken ??= { why: again('PROVIDER_CHANGED', message) };
    this.poke();
  }

  #access(): string {
    return accessOf(this.#context.providers, this.#profile);
  }

  #setStatus(status: Status): void {
    const { state, reason, message } = shown(status);
    const before = this.#status;
    this.#status = { state, reason, message };
    if (before.state === state && before.reason === reason) return;
    this.#since = this.#context.clock.now();
    emit(this.#context.observer, 'cluster', { cluster: this.name, state, reason, message });
    debug(this.#context.logger, { cluster: this.name }, `${this.name}: ${state} (${reason}): ${message}`);
    this.#context.changed();
  }
}
