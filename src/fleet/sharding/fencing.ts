/** Ends the sessions of replicas that seem to be dead. Only then may others take their shards. */
import type { Clock } from '../clock.ts';
import { holderOf, leaseKind, releasedSpec } from '../lease/lease.ts';
import type { PatientLeases } from '../lease/patient-leases.ts';
import { identityOf, replicaLeaseName } from './names.ts';
import type { Replicas } from './replicas.ts';

export interface FencingContext {
  readonly leases: PatientLeases;
  /** Of the fleet. */
  readonly name: string;
  readonly clock: Clock;
  readonly replicas: Replicas;
}

export class Fencing {
  readonly #context: FencingContext;
  /** By session: all of its shards wait for the same request. */
  readonly #underWay = new Map<string, Promise<boolean>>();

  constructor(context: FencingContext) {
    this.#context = context;
  }

  /** Makes sure that a session is over, and can never be valid again. Resolves with `false` where it lives. */
  endSession(session: string): Promise<boolean> {
    const underWay = this.#underWay.get(session);
    if (underWay) return underWay;
    const fencing = this.#end(session).finally(() => this.#underWay.delete(session));
    this.#underWay.set(session, fencing);
    return fencing;
  }

  /**
   * Its replica's Lease has not changed for its duration, and is written with this version as the condition: from then on the
   * replica cannot renew it any more. Nothing is written where it names another session.
   */
  async #end(session: string): Promise<boolean> {
    const { leases, name, clock, replicas } = this.#context;
    const view = replicas.viewOfSession(session);
    const lease = await leases.get(replicaLeaseName(name, identityOf(session)));
    if (lease) view.accept(lease);
    else view.acceptAbsence();
    if (lease && holderOf(lease) !== session) return true;
    if (view.isLive) return false;
    if (!lease) return true;
    const written = await leases.write({ ...leaseKind, metadata: lease.metadata, spec: releasedSpec(lease, clock) });
    if (written) view.observe(written);
    return written !== undefined;
  }
}
