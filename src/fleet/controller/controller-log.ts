/** The log of one controller: its problems, each of them once. */
import type { Logger } from '../../observability/logger.ts';
import { reconcileField } from '../../observability/reconcile-scope.ts';
import { type Warning, WarningLimiter } from '../../observability/warning-limiter.ts';
import type { Clock } from '../clock.ts';
import type { LogFields } from '../guard.ts';
import type { ReconcileRequest } from './options.ts';
import type { Place } from './place.ts';
import { keyOfRequest } from './requests.ts';

export class ControllerLog {
  readonly #controller: string;
  readonly #logger: Logger;
  readonly #warnings: WarningLimiter;

  constructor(controller: string, { logger, clock }: { readonly logger: Logger; readonly clock: Clock }) {
    this.#controller = controller;
    this.#logger = logger;
    this.#warnings = new WarningLimiter({ logger, clock: () => clock.uptime() });
  }

  fields({ fields }: Place, request?: ReconcileRequest): LogFields {
    const ofRequest = request ? { object: keyOfRequest(request), ...reconcileField() } : {};
    return { controller: this.#controller, ...fields, ...ofRequest };
  }

  warn(place: Place, kind: 'controller' | 'reconcile' | 'cache', warning: Warning, request?: ReconcileRequest): void {
    const fields = this.fields(place, request);
    const isSaid = this.#warnings.add({ name: place.name, fields }, kind, warning);
    if (!isSaid) this.#logger.debug?.(fields, warning.message);
  }

  /** A problem of a place is over. */
  clear(place: Place, kind: 'controller' | 'cache'): void {
    this.#warnings.clear({ name: place.name, fields: this.fields(place) }, kind);
  }

  succeeded(place: Place, request: ReconcileRequest): void {
    this.#warnings.clearOne(place, 'reconcile', keyOfRequest(request));
  }
}
