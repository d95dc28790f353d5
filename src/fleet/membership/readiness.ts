/** Whether a cluster is reported as healthy, and since when it is not. */
import type { Logger } from '../../observability/logger.ts';
import { keyOf } from '../../rest/api/kubernetes-object.ts';
import { isText } from '../../util/guards.ts';
import type { Clock } from '../clock.ts';
import { ask } from '../guard.ts';
import type { FleetProfile } from './identity.ts';

/** `unknown` neither engages a cluster nor disengages it. */
export interface Readiness {
  readonly ready: 'yes' | 'no' | 'unknown';
  readonly reason: string;
  readonly message: string;
}

/** Reads the condition `ControlPlaneHealthy` (KEP-4322). Without it a cluster counts as healthy. */
export function controlPlaneReadiness({ status }: Pick<FleetProfile, 'status'>): Readiness {
  const conditions: unknown = status?.conditions;
  const condition: unknown = Array.isArray(conditions)
    ? conditions.find((entry: unknown) => Object(entry).type === 'ControlPlaneHealthy')
    : undefined;
  if (condition === undefined)
    return { ready: 'yes', reason: 'NOT_REPORTED', message: 'ControlPlaneHealthy is not reported' };
  const { status: value, reason, message } = Object(condition) as Record<string, unknown>; // each is looked at here
  const why = [reason, message].filter((part) => typeof part === 'string' && part !== '').join(': ');
  const said = `ControlPlaneHealthy is ${isText(value) ? value : 'no text'}${why === '' ? '' : ` (${why})`}`;
  if (value === 'True') return { ready: 'yes', reason: 'CONTROL_PLANE_HEALTHY', message: said };
  if (value === 'False') return { ready: 'no', reason: 'CONTROL_PLANE_UNHEALTHY', message: said };
  return { ready: 'unknown', reason: 'CONTROL_PLANE_UNKNOWN', message: said };
}

/** Calls the `isReady` function of the caller. If it throws, the readiness is unknown. */
export function callersReadiness(
  isReady: (profile: FleetProfile) => boolean | undefined,
  logger: Logger,
): (profile: FleetProfile) => Readiness {
  return (profile) => {
    const call = () => isReady(profile);
    const ready = ask(logger, { cluster: keyOf(profile) }, 'isReady', call, (said) => said);
    if (ready === true) return { ready: 'yes', reason: 'READY', message: 'isReady says true' };
    if (ready === false) return { ready: 'no', reason: 'NOT_READY', message: 'isReady says false' };
    return { ready: 'unknown', reason: 'READINESS_UNKNOWN', message: 'isReady says neither true nor false' };
  };
}

/** Remembers since when a cluster has been reported as unhealthy. `unknown` changes nothing. */
export class Health {
  readonly #clock: Clock;
  readonly #graceMs: number;
  reported: Readiness = { ready: 'unknown', reason: 'NOT_REPORTED', message: 'nothing has been reported' };
  #badSince: number | undefined;

  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** Milliseconds until an unhealthy cluster is disengaged: the rest of its grace period. */
  get graceLeftMs(): number {
    if (this.reported.ready !== 'no' || this.#badSince === undefined) return Number.POSITIVE_INFINITY;
    return this.#badSince + this.#graceMs - this.#clock.uptime();
  }

  report(readiness: Readiness): void {
    this.reported = readiness;
    if (readiness.ready === 'no') this.#badSince ??= this.#clock.uptime();
    else if (readiness.ready === 'yes') this.#badSince = undefined;
  }
}
