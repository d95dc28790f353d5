/** The reconcile that the running code belongs to: its requests, lines of the log and writes find it here. */
import { AsyncLocalStorage } from 'node:async_hooks';

/** A write of `config.resource` that an API server has carried out. */
export interface ObservedWrite {
  /** Of the config that wrote: identifies the server. */
  readonly dispatcher: object;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly isDelete: boolean;
  /** The body of the response. */
  readonly answer: unknown;
}

export interface ReconcileScope {
  readonly reconcileId: string;
  wrote(write: ObservedWrite): void;
}

export const reconcileScope = new AsyncLocalStorage<ReconcileScope>();

/** A field for events and lines of the log; none outside of reconciles. */
export function reconcileField(scope = reconcileScope.getStore()): { readonly reconcileId?: string } {
  return scope ? { reconcileId: scope.reconcileId } : {};
}
