/**
 * One engagement of a cluster: gets a credential, sends a first request, calls the `onEngage` functions, and at the end drains the work
 * and closes the config. Decides nothing.
 */
import { FleetError } from '../../errors/index.ts';
import { reasonOf } from '../../observability/callbacks.ts';
import type { Logger } from '../../observability/logger.ts';
import type { CredentialProviders } from '../../providers/credential-providers.ts';
import { ApiServer } from '../../rest/api/api-server.ts';
import type { Preview } from '../../rest/request/previewed-writes.ts';
import { RestConfig } from '../../rest/rest-config.ts';
import { abortable } from '../../util/abortable.ts';
import type { Clock } from '../clock.ts';
import { Cluster } from '../cluster.ts';
import { guard } from '../guard.ts';
import type { FleetObserver } from '../telemetry.ts';
import type { FleetProfile } from './identity.ts';
import { type Fence, shardLost } from './ownership.ts';
import { disengaged, type Stage } from './status.ts';

/** Called with each cluster that is being engaged. An error puts the cluster into `Backoff`. */
export type EngageHandler = (cluster: Cluster) => unknown;

/** Called with each cluster that has been let go. `reason` is that of the cluster's signal. An error is logged. */
export type DisengageHandler = (cluster: Cluster, reason: FleetError) => unknown;

/** Adds a function of the caller. It may be added twice, and is called twice then. Dispose of the result to remove it. */
export function addHandler<A extends readonly unknown[]>(
  handlers: Set<(...args: A) => unknown>,
  handler: (...args: A) => unknown,
): Disposable {
  const entry = (...args: A) => handler(...args);
  handlers.add(entry);
  return { [Symbol.dispose]: () => void handlers.delete(entry) };
}

export interface EngagementContext {
  readonly providers: CredentialProviders;
  /** Collects what the configs of clusters would have written: nothing is. */
  readonly preview: Preview | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  readonly engageTimeoutMs: number;
  readonly onEngage: ReadonlySet<EngageHandler>;
  /** Called when nothing is left of a cluster that was engaged. */
  readonly onDisengage: ReadonlySet<DisengageHandler>;
  /** Resolves when all reconciles of a cluster whose signal has aborted have ended or were given up. */
  drained(cluster: Cluster): Promise<void>;
  /** Something that a listing shows has changed. */
  changed(): void;
}

interface EngagementListener {
  profile(): FleetProfile;
  entered(stage: Stage, message: string): void;
  /** All `onEngage` functions have ended. */
  engaged(cluster: Cluster): void;
  /** A request was refused because the provider has changed. */
  providerChanged(message: string): void;
}

/** What an engagement depends on: it ends when any of it changes. */
export interface Basis {
  /** What `identify` says. */
  readonly key: string;
  /** What `Ownership` knows the cluster by. */
  readonly ownerKey: string;
  readonly uid: string;
  /** What the profile resolves to. */
  readonly access: string;
  /** Ends the time in which this replica may use it; absent if there is no such limit. */
  readonly fence: Fence | undefined;
}

export class Engagement {
  readonly name: string;
  readonly basis: Basis;
  /** The current stage, or the failed one. */
  stage: Stage = 'RESOLVE';
  /** Set when the profile has been matched with a provider. */
  config: RestConfig | undefined;
  /** Set when the cluster has answered. */
  cluster: Cluster | undefined;
  readonly #context: EngagementContext;
  readonly #listener: EngagementListener;
  readonly #controller = new AbortController();
  readonly #onFenceOver = () => this.#abortRequests(this.#shardLost());
  #isEngaged = false;

  constructor(name: string, basis: Basis, context: EngagementContext, listener: EngagementListener) {
    this.name = name;
    this.basis = basis;
    this.#context = context;
    this.#listener = listener;
    basis.fence?.signal.addEventListener('abort', this.#onFenceOver, { once: true });
  }

  /** Resolves when all `onEngage` functions have ended. After a rejection call `end`. */
  async begin(): Promise<void> {
    const { providers, preview, clock, engageTimeoutMs } = this.#context;
    const { signal } = this.#controller;
    let cancel = () => {};
    try {
      this.#enter('RESOLVE', 'the profile is matched with the providers');
      const config = providers.getConfig(this.#listener.profile(), { preview });
      this.config = config;
      const { fence } = this.basis;
      if (fence) RestConfig.setFence(config, () => (fence.isOver ? this.#shardLost() : undefined));
      this.#enter('CREDENTIAL', `provider ${config.access.provider} is asked for a credential`);
      // The plugin has a limit of its own. At the start of a large fleet most of this time is spent in the queue of plugin runs.
      await abortable(() => config.ready({ signal }), signal);
      cancel = clock.after(engageTimeoutMs, () => this.abort(this.#timeout()));
      this.#enter('REQUEST', `${config.access.cluster.server} is asked for its version`);
      await abortable(() => checkAnswers(config, signal), signal);
      const cluster = this.#makeCluster(config);
      this.cluster = cluster;
      this.#enter('HANDLERS', 'onEngage functions are called');
      for (const handler of this.#context.onEngage) await abortable(async () => handler(cluster), signal);
      signal.throwIfAborted();
      // In the same turn as the end of the loop: a later registration finds an engaged cluster.
      this.#isEngaged = true;
      this.#listener.engaged(cluster);
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      cancel();
    }
  }

  /** Calls an `onEngage` function that was added after the cluster was engaged. Rejects with its error, or when the engagement ends. */
  async callLate(cluster: Cluster, handler: EngageHandler): Promise<void> {
    const { clock, engageTimeoutMs } = this.#context;
    const late = new AbortController();
    const cancel = clock.after(engageTimeoutMs, () => late.abort(this.#timeout()));
    try {
      await abortable(async () => handler(cluster), AbortSignal.any([cluster.signal, late.signal]));
    } finally {
      cancel();
    }
  }

  abort(reason: FleetError): void {
    this.#controller.abort(reason);
  }

  /**
   * Waits for the work, aborts what requests are left, and closes the config. If the fence is over, requests are aborted first, and the
   * work is waited for all the same: the cluster may be engaged again in this replica.
   */
  async end(reason: FleetError): Promise<void> {
    this.abort(reason);
    if (this.basis.fence?.isOver) this.#onFenceOver();
    if (this.cluster) await this.#context.drained(this.cluster);
    this.#abortRequests(reason);
    this.basis.fence?.signal.removeEventListener('abort', this.#onFenceOver);
    await this.config?.close();
    const { cluster } = this;
    if (!this.#isEngaged || !cluster) return;
    const { onDisengage, logger } = this.#context;
    const what = `an onDisengage function for ${this.name}`;
    for (const handler of [...onDisengage])
      guard(logger, { cluster: this.name }, what, () => handler(cluster, cluster.signal.reason));
  }

  /** Aborts all requests at once, and refuses later ones. */
  #abortRequests(reason: FleetError): void {
    this.abort(reason);
    this.config?.dispatcher.destroy(reason);
  }

  #shardLost(): FleetError {
    return disengaged(this.name, shardLost);
  }

  #enter(stage: Stage, message: string): void {
    this.#controller.signal.throwIfAborted();
    this.stage = stage;
    this.#listener.entered(stage, message);
  }

  #timeout(): FleetError {
    const [what, advice] =
      this.stage === 'HANDLERS'
        ? ['an onEngage function', ': start long work without waiting for it']
        : [this.stage.toLowerCase(), ''];
    const message = `${what} did not end within ${this.#context.engageTimeoutMs} ms${advice}`;
    return new FleetError('TIMEOUT', message, { cluster: this.name });
  }

  #makeCluster(config: RestConfig): Cluster {
    const { clock, logger, observer } = this.#context;
    const server = new ApiServer(config, clock);
    const fields = { cluster: this.name };
    return new Cluster({
      name: this.name,
      config,
      signal: this.#controller.signal,
      fence: this.basis.fence,
      context: { server, clock, logger, fields, reports: { observer, cluster: this.name } },
      profile: () => this.#listener.profile(),
      changed: () => this.#context.changed(),
      restarted: ({ reason, error }) => {
        if (reason === 'provider_changed') this.#listener.providerChanged(reasonOf(error));
      },
    });
  }
}

/** Requests what every user may read. A 401 is a failure; a 403 is not: the server has accepted the credential. */
export async function checkAnswers(config: RestConfig, signal: AbortSignal): Promise<void> {
  const server = new ApiServer(config);
  const response = await server.get('/version', { signal });
  const { statusCode } = response;
  if ((statusCode >= 200 && statusCode < 300) || statusCode === 403) return response.body.dump();
  throw await server.refusalOf(response, 'GET /version');
}
