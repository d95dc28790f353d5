/**
 * One engagement of a cluster, from its credential to its fence: asks whether the cluster can be used, tells the author's functions,
 * and in the end makes sure that nothing of it goes on. Decides nothing.
 */

import { abortable } from '../../abortable.ts';
import { reasonOf } from '../../callbacks.ts';
import type { CredentialProviders } from '../../credential-providers.ts';
import { FleetError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { RestConfig } from '../../rest/rest-config.ts';
import { ApiServer } from '../api-server.ts';
import type { Clock } from '../clock.ts';
import { Cluster, type Drain } from '../cluster.ts';
import { Discovery } from '../discovery.ts';
import { warn } from '../guard.ts';
import type { FleetProfile } from '../profile.ts';
import { emit, type FleetObserver } from '../telemetry.ts';
import type { Stage } from './failure.ts';
import { shardLost, type Term } from './ownership.ts';
import { disengaged } from './status.ts';

export interface EngagementContext {
  readonly providers: CredentialProviders;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: FleetObserver | undefined;
  readonly engageTimeoutMs: number;
  /** Milliseconds that work under way may take to end when its cluster is disengaged. */
  readonly drainTimeoutMs: number;
  /** The author's functions; those that come while they are told are told too. */
  readonly handlers: Iterable<(cluster: Cluster) => unknown>;
  /** Resolves when nothing works on the cluster any more, or nobody waits any longer. */
  drained(cluster: Cluster, drain: Drain): Promise<void>;
  /** Why controllers do not work on it. */
  troubles(cluster: Cluster): readonly string[];
  /** Something that a listing shows has changed. */
  changed(): void;
}

/** What an engagement tells its member. */
export interface EngagementListener {
  profile(): FleetProfile;
  entered(stage: Stage, message: string): void;
  /** Everybody has been told. */
  engaged(cluster: Cluster): void;
  /** Requests say that the provider is another one now. */
  providerChanged(message: string): void;
}

/** What an engagement is for: where any of it changes it ends. */
export interface Basis {
  /** What `identify` says. */
  readonly key: string;
  readonly uid: string;
  /** What the profile resolves to. */
  readonly access: string;
  /** The time in which it may be used at all. */
  readonly term: Term | undefined;
}

export class Engagement {
  readonly name: string;
  readonly basis: Basis;
  /** Where it stands, or where it failed. */
  stage: Stage = 'RESOLVE';
  readonly #context: EngagementContext;
  readonly #listener: EngagementListener;
  readonly #controller = new AbortController();
  /** Its requests are ended. */
  readonly #cut = new AbortController();
  readonly #cutOff = () => this.#end(this.#lost());
  #config: RestConfig | undefined;
  #cluster: Cluster | undefined;

  constructor(name: string, basis: Basis, context: EngagementContext, listener: EngagementListener) {
    this.name = name;
    this.basis = basis;
    this.#context = context;
    this.#listener = listener;
    basis.term?.signal.addEventListener('abort', this.#cutOff, { once: true });
  }

  /** Once the cluster has answered. */
  get cluster(): Cluster | undefined {
    return this.#cluster;
  }

  /** The access type. */
  get provider(): string | undefined {
    return this.#config?.access.provider;
  }

  /** The plugin's. */
  get command(): string | undefined {
    return this.#config?.access.exec?.command;
  }

  get server(): string {
    return this.#config?.access.cluster.server ?? '';
  }

  /** Why it was given up while it began, or ended. */
  get reason(): unknown {
    return this.#controller.signal.reason;
  }

  /** Resolves when everybody has been told of the cluster. Rejects with the failure; `end` has to follow. */
  async begin(): Promise<void> {
    const { providers, clock, engageTimeoutMs } = this.#context;
    const { signal } = this.#controller;
    const cancel = clock.after(engageTimeoutMs, () => this.#timeOut());
    try {
      this.#enter('RESOLVE', 'the profile is matched with the providers');
      const config = providers.getConfig(this.#listener.profile());
      this.#config = config;
      const { term } = this.basis;
      if (term) RestConfig.fence(config, () => (term.isOver ? this.#lost() : undefined));
      this.#enter('CREDENTIAL', `provider ${config.access.provider} is asked for a credential`);
      await abortable(() => config.ready({ signal }), signal);
      this.#enter('REQUEST', `${this.server} is asked for its version`);
      await abortable(() => checkCluster(config, signal), signal);
      const cluster = this.#makeCluster(config);
      this.#cluster = cluster;
      this.#enter('HANDLERS', 'onEngage functions are told');
      for (const handler of this.#context.handlers) await abortable(async () => handler(cluster), signal);
      signal.throwIfAborted();
      // In the same turn as the end of the loop: who registers later finds an engaged cluster.
      this.#listener.engaged(cluster);
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      cancel();
    }
  }

  /** Gives it up, or ends it: from now on the signal is aborted. */
  abort(reason: FleetError): void {
    this.#controller.abort(reason);
  }

  /**
   * Resolves when nothing of it goes on and no request can leave. Waits for what works on the cluster, for some time. Where its
   * term is over requests are ended before: only the work is waited for, since the cluster may be engaged again here.
   */
  async end(reason: FleetError): Promise<void> {
    this.abort(reason);
    if (this.basis.term?.isOver) this.#cutOff();
    if (this.#cluster) await this.#drain(this.#cluster);
    this.#end(reason);
    this.basis.term?.signal.removeEventListener('abort', this.#cutOff);
    await this.#config?.close();
  }

  /** At once: what is under way is ended, and nothing can leave any more. */
  #end(reason: FleetError): void {
    this.abort(reason);
    this.#cut.abort();
    this.#config?.dispatcher.destroy(reason);
  }

  #lost(): FleetError {
    return disengaged(this.name, { state: 'NotOwned', ...shardLost });
  }

  #enter(stage: Stage, message: string): void {
    this.#controller.signal.throwIfAborted();
    this.stage = stage;
    this.#listener.entered(stage, message);
  }

  #timeOut(): void {
    const advice = this.stage === 'HANDLERS' ? ': start long work without waiting for it' : '';
    const message = `${this.stage.toLowerCase()} did not end within ${this.#context.engageTimeoutMs} ms${advice}`;
    this.abort(new FleetError('TIMEOUT', message, { cluster: this.name }));
  }

  async #drain(cluster: Cluster): Promise<void> {
    const { clock, logger, drainTimeoutMs } = this.#context;
    const [cut, late] = [this.#cut, new AbortController()];
    const cancel = clock.after(drainTimeoutMs, () => {
      const requests = cut.signal.aborted ? 'their requests ended before' : 'their requests are ended now';
      const message = `reconciles of ${this.name} go on though their signal aborted ${drainTimeoutMs} ms ago: ${requests}`;
      warn(logger, { cluster: this.name }, message);
      cut.abort();
      late.abort();
    });
    await this.#context.drained(cluster, { cut: cut.signal, late: late.signal });
    cancel();
  }

  #makeCluster(config: RestConfig): Cluster {
    const { clock, logger, observer } = this.#context;
    const server = new ApiServer(config);
    const fields = { cluster: this.name };
    return new Cluster({
      name: this.name,
      config,
      signal: this.#controller.signal,
      context: { server, discovery: new Discovery(server, clock), clock, logger, fields, random: Math.random },
      profile: () => this.#listener.profile(),
      synced: () => this.#context.changed(),
      restarts: ({ options: { apiVersion, kind } }, { reason, error, afterMs }) => {
        emit(observer, 'restart', { cluster: this.name, apiVersion, kind, reason, afterMs });
        if (reason === 'provider_changed') this.#listener.providerChanged(reasonOf(error));
        this.#context.changed();
      },
    });
  }
}

/**
 * Asks the cluster something that everybody may ask. A refusal of the credential is a failure; that a user may not ask this
 * is none, since he is known.
 */
async function checkCluster(config: RestConfig, signal: AbortSignal): Promise<void> {
  const server = new ApiServer(config);
  const response = await server.get('/version', { signal });
  const { statusCode } = response;
  if ((statusCode >= 200 && statusCode < 300) || statusCode === 403) return response.body.dump();
  throw await server.refusalOf(response, 'GET /version');
}
