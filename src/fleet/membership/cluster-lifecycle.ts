/**
 * The lifecycle of the cluster of one ClusterProfile: decides when it is engaged, retried and disengaged. Takes one step at a time, and
 * looks at the desired state again after each. Waits for no other lifecycle.
 */
import { FleetError } from '../../errors/index.ts';
import { askSafely, reasonOf } from '../../observability/callbacks.ts';
import { codeFieldOf } from '../../util/guards.ts';
import { Wait } from '../clock.ts';
import type { Cluster } from '../cluster.ts';
import { Attempts, type AttemptsContext } from './attempts.ts';
import { type Basis, type EngageHandler, Engagement, type EngagementContext } from './engagement.ts';
import type { FleetProfile } from './identity.ts';
import type { Verdict } from './membership.ts';
import { shardLost } from './ownership.ts';
import { Health, type Readiness } from './readiness.ts';
import { again, announce, disengaged, failureOf, problemsOf, replaced, type Status, shown } from './status.ts';

/** What all lifecycles of a fleet share. */
export interface LifecycleContext extends EngagementContext, AttemptsContext {
  readonly unhealthyGraceMs: number;
  readinessOf(profile: FleetProfile): Readiness;
  /** Claims the cluster. False while another lifecycle has it: this one is woken when the cluster is free. */
  claim(cluster: Basis, lifecycle: ClusterLifecycle): boolean;
  /** Gives the cluster back, if the lifecycle has it. */
  release(cluster: Basis, lifecycle: ClusterLifecycle): void;
  /** Attaches the controllers to an engaged cluster. */
  begin(cluster: Cluster): void;
  /** The status, the profile or the owner of a cluster may have changed. */
  moved(lifecycle: ClusterLifecycle): void;
}

/** Why an engagement has to end; with an error if that counts as a failure. */
interface Broken {
  readonly why: Status;
  readonly error?: unknown;
}

type Engageable = Verdict & { readonly engage: true };

export class ClusterLifecycle {
  readonly name: string;
  /** Resolves when it has left the fleet and all of its work has ended. */
  readonly #ended: Promise<void>;
  readonly #context: LifecycleContext;
  #health: Health;
  readonly #wait: Wait;
  #profile: FleetProfile;
  #verdict: Verdict;
  /** Why it leaves the fleet. */
  #gone: Status | undefined;
  #isOver = false;
  #status: Status = { state: 'Pending', reason: 'NEW', message: 'the profile has just been seen' };
  #since: number;
  /** Set while the cluster is being engaged, and while it is engaged. */
  #engagement: Engagement | undefined;
  /** Set if the engagement has to end for another reason than its basis. */
  #broken: Broken | undefined;
  readonly #attempts: Attempts;
  /** What the profile resolved to at the last attempt. */
  #tried: string | undefined;

  constructor(name: string, profile: FleetProfile, verdict: Verdict, context: LifecycleContext) {
    this.name = name;
    this.#profile = profile;
    this.#verdict = verdict;
    this.#context = context;
    this.#since = context.clock.now();
    this.#wait = new Wait(context.clock);
    this.#attempts = new Attempts(name, context);
    this.#health = new Health(context.clock, context.unhealthyGraceMs);
    this.#health.report(context.readinessOf(profile));
    this.#ended = this.#drive().catch((error: unknown) => {
      const message = `${name} is given up, which is a bug of this package: ${reasonOf(error)}`;
      context.logger.warn({ cluster: name, ...codeFieldOf(error) }, message);
    });
  }

  get status(): Status & { readonly since: number; readonly owner?: string } {
    const owner = this.#verdict.engage ? undefined : this.#verdict.owner;
    const { cluster } = this;
    const problems = cluster && problemsOf(cluster);
    return { ...(problems ?? this.#status), since: this.#since, ...(owner === undefined ? {} : { owner }) };
  }

  /** The cluster, while it is engaged. */
  get cluster(): Cluster | undefined {
    return this.#status.state === 'Engaged' ? this.#engagement?.cluster : undefined;
  }

  get isGone(): boolean {
    return this.#gone !== undefined;
  }

  /** What followers of the clusters receive: `cluster` is engaged and not about to end; `gone` once nothing of it is left. */
  get facts() {
    const cluster = this.#engagement && !this.#whyNot(this.#engagement.basis) ? this.cluster : undefined;
    const gone = this.#isOver ? this.#gone : undefined;
    return { profile: this.#profile, status: this.#status, cluster, isEngageable: this.#verdict.engage, gone };
  }

  /** It has been tried once, or is not going to be tried now. */
  get isSettled(): boolean {
    return this.#status.state !== 'Pending' && this.#status.state !== 'Engaging';
  }

  /** The profile or the verdict has changed. */
  update(profile: FleetProfile, verdict: Verdict): void {
    if (this.#isOver) return;
    const isAnother = this.#profile.metadata.uid !== profile.metadata.uid;
    this.#profile = profile;
    this.#verdict = verdict;
    if (isAnother) {
      // It was deleted and created again: failures of the earlier one do not count.
      this.#health = new Health(this.#context.clock, this.#context.unhealthyGraceMs);
      this.#attempts.forget();
      this.#attempts.skipPause();
    }
    // It may have been leaving the fleet. The earlier engagement may still be ending.
    this.#gone = undefined;
    this.#health.report(this.#context.readinessOf(profile));
    // A heartbeat in the status does not end a backoff.
    if (this.#tried !== undefined && this.#tried !== this.#access) this.#attempts.skipPause();
    this.wake();
    this.#context.moved(this);
  }

  /** Removes it from the fleet, unless `update` brings it back. Resolves when all of its work has ended. */
  remove(reason: string, message: string): Promise<void> {
    this.#gone ??= { state: 'Pending', reason, message };
    this.wake();
    return this.#ended;
  }

  /** The providers of some access types have changed: engages the cluster again if it uses one of them, retries it if it failed. */
  providersChanged(types: ReadonlySet<string>): void {
    const provider = this.#engagement?.config?.access.provider;
    if (provider !== undefined && types.has(provider)) this.#breakUp(`provider ${provider} has changed`);
    this.#attempts.skipPause();
    this.wake();
  }

  /** Calls an `onEngage` function that was added just now. Its error ends the engagement. */
  handlerAdded(handler: EngageHandler): void {
    const { cluster } = this;
    if (!cluster) return;
    this.#engagement?.callLate(cluster, handler).catch((error: unknown) => {
      if (this.cluster !== cluster || cluster.signal.aborted || this.#broken) return;
      this.#attempts.begin();
      this.#broken = { why: { state: 'Backoff', ...failureOf('HANDLERS', error) }, error };
      this.wake();
    });
  }

  /** Looks at the desired state again. */
  wake(): void {
    // Aborts an attempt at once; an engaged cluster is disengaged as the next step.
    const attempt = this.#status.state === 'Engaging' ? this.#engagement : undefined;
    const why = attempt && this.#whyNot(attempt.basis);
    if (why) attempt?.abort(disengaged(this.name, why));
    this.#wait.wake();
  }

  async #drive(): Promise<void> {
    // The fleet knows it before anything happens.
    await undefined;
    while (!this.#gone) {
      const next = this.#next();
      if ('engage' in next) await this.#engage(next);
      else {
        this.#setStatus(next.status);
        await this.#wait.for(next.ms);
      }
    }
    this.#attempts.forget();
    this.#isOver = true;
    announce(this.name, { ...this.#gone, state: undefined }, this.#context);
    this.#context.moved(this);
  }

  /** Whether to engage it now, or what to wait for, and how long. Changes nothing. */
  #next(): Engageable | { readonly status: Status; readonly ms?: number } {
    const verdict = this.#verdict;
    if (!verdict.engage) return { status: verdict };
    const { ready, reason, message } = this.#health.reported;
    if (ready !== 'yes') return { status: { state: 'NotReady', reason, message } };
    // A new verdict follows. Until then each attempt would end at once and be repeated without a pause.
    if (verdict.fence?.isOver) return { status: { state: 'NotOwned', ...shardLost } };
    const movesMs = (verdict.notBefore ?? 0) - this.#context.clock.uptime();
    if (movesMs > 0) {
      const message = 'an older profile of this cluster has gone, whose replica may still be letting it go';
      return { status: again('MOVES', message), ms: movesMs };
    }
    const { pause } = this.#attempts;
    return pause ? { status: { state: 'Backoff', ...pause.failure }, ms: pause.ms } : verdict;
  }

  /** Why an engagement has to end: its basis has changed. */
  #whyNot(basis: Basis): Status | undefined {
    const verdict = this.#verdict;
    const why = this.#gone ?? this.#broken?.why;
    if (why) return why;
    if (!verdict.engage) return verdict;
    if (verdict.key !== basis.key)
      return again('IDENTITY_CHANGED', `identify says ${verdict.key} now, it was ${basis.key}`);
    if (verdict.fence !== basis.fence)
      return again('OWNED_AGAIN', 'its shard was lost for a while: another replica may have worked on it');
    if (this.#profile.metadata.uid !== basis.uid) return replaced;
    const { reason, message } = this.#health.reported;
    if (this.#health.graceLeftMs <= 0) return { state: 'NotReady', reason, message };
    if (this.#access === basis.access) return undefined;
    return again('PROFILE_CHANGED', 'the profile leads to another cluster, or to the same in another way');
  }

  /** What the profile resolves to, or why it does not resolve, as a text that can be compared. Ignored fields have no effect. */
  get #access(): string {
    const resolve = () => ({ ...this.#context.providers.resolve(this.#profile), ignored: [] });
    return JSON.stringify(askSafely(resolve, (access) => access));
  }

  /** From the claim until nothing of the engagement is left. */
  async #engage({ key, ownerKey, fence }: Engageable): Promise<void> {
    const basis = { key, ownerKey, uid: this.#profile.metadata.uid, access: this.#access, fence };
    if (!this.#context.claim(basis, this)) {
      this.#setStatus(again('WAITS_FOR_DUPLICATE', `another profile of ${key} is being disengaged`));
      await this.#wait.for();
      return;
    }
    this.#attempts.begin();
    this.#broken = undefined;
    this.#tried = basis.access;
    const engagement = new Engagement(this.name, basis, this.#context, {
      profile: () => this.#profile,
      entered: (stage, message) => this.#setStatus({ state: 'Engaging', reason: stage, message }),
      engaged: (cluster) => {
        this.#context.begin(cluster);
        this.#attempts.forget(`${this.name} is engaged now`);
        this.#setStatus({ state: 'Engaged', reason: 'ENGAGED', message: cluster.config.access.cluster.server });
      },
      providerChanged: (message) => this.#breakUp(message),
    });
    this.#engagement = engagement;
    let why: Status | undefined;
    let broken: Broken | undefined;
    try {
      await engagement.begin();
      for (why = this.#whyNot(basis); !why; why = this.#whyNot(basis)) await this.#wait.for(this.#health.graceLeftMs);
      broken = this.#broken;
      // A change of the profile or of the owner is not a problem.
      const level = why.state === 'NotReady' || why.state === 'Backoff' ? 'warn' : 'debug';
      const line = `${this.name} is disengaged (${why.reason}): ${why.message}`;
      this.#context.logger[level]?.({ cluster: this.name }, line);
      this.#setStatus(why);
    } catch (error) {
      why = { state: 'Backoff', ...failureOf(engagement.stage, error) };
      // An aborted attempt is not a failure of the cluster. What a function of the caller's does with another cluster may be one.
      const isDisengaged = error instanceof FleetError && error.code === 'CLUSTER_DISENGAGED';
      if (!isDisengaged || error.profile !== this.name) broken = { why, error };
    }
    await engagement.end(disengaged(this.name, why));
    this.#engagement = undefined;
    if (broken && 'error' in broken) {
      this.#attempts.failed(broken.why, broken.error);
      this.#setStatus(broken.why);
    }
    this.#context.release(basis, this);
  }

  #breakUp(message: string): void {
    if (!this.#engagement) return;
    this.#broken ??= { why: again('PROVIDER_CHANGED', message) };
    this.wake();
  }

  #setStatus(status: Status): void {
    const before = this.#status;
    this.#status = shown(status);
    if (before.state === this.#status.state && before.reason === this.#status.reason) return;
    this.#since = this.#context.clock.now();
    announce(this.name, this.#status, this.#context);
    this.#context.changed();
    this.#context.moved(this);
  }
}
