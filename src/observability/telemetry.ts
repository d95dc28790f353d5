/**
 * Internal events, reported to one observer (metrics), and on `diagnostics_channel` for spans and logs, with the reconcile that they
 * belong to. No event contains a secret. A cluster is identified by the origin of its server, a refused profile by its name.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Channel, channel } from 'node:diagnostics_channel';
import type { PluginErrorCode, ProfileErrorCode, RequestErrorCode } from '../errors/index.ts';
import { callSafely } from './callbacks.ts';
import { warnOnStderr } from './logger.ts';

/** Why a plugin runs: there is no credential yet, it has expired or is about to, or a server refused it. */
export type RunReason = 'first' | 'expired' | 'ahead' | 'rejected';

/** How a run ended. */
type RunState = 'ok' | 'exec_error' | 'not_found' | 'timeout' | 'invalid_response' | 'not_allowed';

export interface RunStart {
  /** Joins a start and its end. */
  readonly runId: number;
  /** The access type; `kubeconfig` for a config from a kubeconfig. */
  readonly provider: string;
  readonly command: string;
  readonly reason: RunReason;
}

export interface RunEnd extends RunStart {
  readonly state: RunState;
  /** Why there is no credential. */
  readonly code?: PluginErrorCode;
  /** If the process exited by itself. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly durationMs: number;
}

/** A new credential is in use. Times are milliseconds since 1970. */
interface CredentialTaken {
  readonly provider: string;
  readonly hasToken: boolean;
  readonly hasCertificate: boolean;
  readonly expiresAt?: number;
  readonly certificateEndsAt?: number;
  /** When the certificate that this one replaces became valid. */
  readonly replacedCertificateStartsAt?: number;
}

/** A server refused the credential. */
interface Rejected {
  readonly provider: string;
  readonly origin: string;
  readonly statusCode: number;
  /** Whether a new credential replaced it. */
  readonly refreshed: boolean;
}

/** A profile broke a rule of the operator or a limit, or a request was refused. */
interface AccessRefused {
  readonly provider: string;
  /** `namespace/name`, safe to print; for a kubeconfig its context. */
  readonly profile: string;
  readonly code: ProfileErrorCode | RequestErrorCode;
  /** The field of the ClusterProfile; for a request its path (`PATH_NOT_ALLOWED`) or its origin (`FOREIGN_ORIGIN`). */
  readonly path: string;
}

/** A connection pool was created, replaced or closed. */
export interface PoolChanged {
  readonly provider: string;
  readonly origin: string;
  readonly change: 'opened' | 'retired' | 'closed';
  readonly hasCertificate: boolean;
}

/** A request begins. A replay after a 401 and a retry without a pause belong to it; a retry after a pause is a request of its own. */
export interface RequestStart {
  /** Joins a start and its end. */
  readonly requestId: number;
  readonly provider: string;
  readonly origin: string;
  readonly method: string;
  /** Without the query, which may contain secrets. */
  readonly path: string;
  /** Of the reconcile that sent it. */
  readonly reconcileId?: string;
}

/** A request has ended, whether or not its response was read. */
interface RequestEnd extends RequestStart {
  /** Absent if there was no response. */
  readonly statusCode?: number;
  /** The code of the error that ended it. */
  readonly code?: string;
  /** Milliseconds until the response began. */
  readonly answerMs?: number;
  /** Milliseconds until it ended: hours for a watch. */
  readonly durationMs: number;
  /** A watch, a followed log or another long-running request. */
  readonly longRunning: boolean;
}

/** Event names are those of the channels, after `clusterprofile-credentials:`. */
export interface Events {
  readonly 'plugin-run-start': RunStart;
  readonly 'plugin-run-end': RunEnd;
  readonly credential: CredentialTaken;
  readonly rejection: Rejected;
  readonly 'access-refused': AccessRefused;
  readonly pool: PoolChanged;
  readonly 'request-start': RequestStart;
  readonly 'request-end': RequestEnd;
}

/** Gets the events that it has a function for. */
export type ObserverOf<E> = { readonly [K in keyof E]?: (event: E[K]) => void };
export type Observer = ObserverOf<Events>;

/** Reports events to an observer and to the subscribers of their channels, whose names are those of the events after `prefix`. */
export function reporter<E>(prefix: string) {
  // A channel lives as long as somebody holds it.
  const channels = new Map<string, Channel>();
  const channelOf = (name: string): Channel => {
    const known = channels.get(name);
    if (known) return known;
    const made = channel(`clusterprofile-credentials:${prefix}${name}`);
    channels.set(name, made);
    return made;
  };
  return {
    /** Whether the event has a receiver: a request should cost nothing without one. */
    isObserved(observer: ObserverOf<E> | undefined, name: keyof E & string): boolean {
      return observer?.[name] !== undefined || channelOf(name).hasSubscribers;
    },
    /** An observer that throws or rejects is ignored. If a subscriber throws, Node raises an uncaught exception, as on every channel. */
    emit<K extends keyof E & string>(observer: ObserverOf<E> | undefined, name: K, event: E[K]): void {
      const observe = observer?.[name];
      if (observe) callSafely(`an observer of ${prefix}${name}`, () => observe(event), warnOnStderr);
      const subscribers = channelOf(name);
      if (subscribers.hasSubscribers) subscribers.publish(event);
    },
  };
}

export const { emit, isObserved } = reporter<Events>('');

/** Whether the error means that a profile broke a rule or a limit, rather than that it is wrong or unfinished. */
export function isRefusal(code: ProfileErrorCode): boolean {
  return code.endsWith('_NOT_ALLOWED') || code === 'SERVER_INSECURE' || code === 'PROFILE_TOO_LARGE';
}

export function stateOf(code: PluginErrorCode): RunState {
  switch (code) {
    case 'PLUGIN_NOT_FOUND':
    case 'PLUGIN_NOT_EXECUTABLE':
      return 'not_found';
    case 'PLUGIN_TIMEOUT':
      return 'timeout';
    case 'PLUGIN_NOT_ALLOWED':
    case 'PLUGIN_FILE_UNSAFE':
      return 'not_allowed';
    default:
      return code.startsWith('ANSWER_') ? 'invalid_response' : 'exec_error';
  }
}

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

interface ReconcileScope {
  readonly reconcileId: string;
  wrote(write: ObservedWrite): void;
}

export const reconcileScope = new AsyncLocalStorage<ReconcileScope>();

/** A field for events and lines of the log; none outside of reconciles. */
export function reconcileField(scope = reconcileScope.getStore()): { readonly reconcileId?: string } {
  return scope ? { reconcileId: scope.reconcileId } : {};
}
