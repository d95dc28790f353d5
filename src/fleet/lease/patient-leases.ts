/** Requests for Leases with a limit that follows how long the server takes: one that is only slow is waited for. */
import { ApiError } from '../../errors/index.ts';
import { within } from '../../rest/api/api-server.ts';
import type { Clock } from '../clock.ts';
import type { Lease, LeaseToWrite } from './lease.ts';
import type { Leases } from './leases.ts';

export interface Patience {
  readonly clock: Clock;
  /** Milliseconds that a request gets where the server is fast. */
  readonly requestTimeoutMs: number;
  /** Milliseconds that it gets at most. */
  readonly longestRequestMs: number;
}

export class PatientLeases<T extends Leases = Leases> {
  readonly #leases: T;
  readonly #patience: Patience;
  #limitMs: number;

  constructor(leases: T, patience: Patience) {
    this.#leases = leases;
    this.#patience = patience;
    this.#limitMs = patience.requestTimeoutMs;
  }

  /** Milliseconds that the next request gets. */
  get limitMs(): number {
    return this.#limitMs;
  }

  get(name: string, limitMs?: number): Promise<Lease | undefined> {
    return this.ask(`GET Lease ${name}`, (leases, signal) => leases.get(name, signal), limitMs);
  }

  /** Creates it, or replaces the version that it has. `undefined` where that is not the newest one. */
  write(lease: LeaseToWrite, limitMs?: number): Promise<Lease | undefined> {
    const { name, resourceVersion } = lease.metadata;
    if (resourceVersion === undefined)
      return this.ask(`POST Lease ${name}`, (leases, signal) => leases.create(lease, signal), limitMs);
    return this.ask(`PUT Lease ${name}`, (leases, signal) => leases.update(lease, signal), limitMs);
  }

  delete(lease: Lease): Promise<boolean> {
    return this.ask(`DELETE Lease ${lease.metadata.name}`, (leases, signal) => leases.delete(lease, signal));
  }

  /** Runs one request. The next one gets twice the time that it took, or twice its limit if that has passed. */
  async ask<R>(
    what: string,
    request: (leases: T, signal: AbortSignal) => Promise<R>,
    limitMs = this.#limitMs,
  ): Promise<R> {
    const { clock, requestTimeoutMs, longestRequestMs } = this.#patience;
    const start = clock.uptime();
    const remember = (ms: number) => {
      this.#limitMs = Math.min(Math.max(2 * ms, requestTimeoutMs), longestRequestMs);
    };
    try {
      const message = `${what}: no answer for ${(limitMs / 1_000).toFixed(1)} s`;
      const answer = await within(clock, limitMs, message, (signal) => request(this.#leases, signal));
      remember(clock.uptime() - start);
      return answer;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'API_TIMEOUT') remember(limitMs);
      throw error;
    }
  }
}
