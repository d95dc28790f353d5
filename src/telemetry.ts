/**
 * What happens inside, told to whoever wants to know: one observer (metrics), and `diagnostics_channel` for spans and logs.
 * No event holds a secret. A cluster is known by the origin of its server, a refused profile by its name.
 */
import { channel } from 'node:diagnostics_channel';
import { emitTo } from './emit.ts';
import type { PluginErrorCode, ProfileErrorCode, RequestErrorCode } from './errors.ts';

/** Why a plugin is run: there is no credential yet, it has expired, it is about to, or a server refused it. */
export type RunReason = 'first' | 'expired' | 'ahead' | 'rejected';

/** How a run ended. */
export type RunState = 'ok' | 'exec_error' | 'not_found' | 'timeout' | 'invalid_response' | 'not_allowed';

export interface RunStart {
  /** Joins a start and its end. */
  readonly runId: number;
  /** The access type; `kubeconfig` for a config that comes from one. */
  readonly provider: string;
  readonly command: string;
  readonly reason: RunReason;
}

export interface RunEnd extends RunStart {
  readonly state: RunState;
  /** Why there is no credential. */
  readonly code?: PluginErrorCode;
  /** Where the process ended by itself. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly durationMs: number;
}

/** A credential was taken over. Times are milliseconds since 1970. */
export interface CredentialTaken {
  readonly provider: string;
  readonly hasToken: boolean;
  readonly hasCertificate: boolean;
  readonly expiresAt?: number;
  readonly certificateEndsAt?: number;
  /** When the certificate that this one replaces became valid. */
  readonly replacedCertificateStartsAt?: number;
}

/** A server refused the credential. */
export interface Rejected {
  readonly provider: string;
  readonly origin: string;
  readonly statusCode: number;
  /** Whether there was a better credential in the end. */
  readonly refreshed: boolean;
}

/** A profile asked for what a rule of the operator's, or a limit, does not let it have; or a request was refused. */
export interface AccessRefused {
  readonly provider: string;
  /** `namespace/name`, fit to be printed; of a kubeconfig its context. */
  readonly profile: string;
  readonly code: ProfileErrorCode | RequestErrorCode;
  /** Field of the ClusterProfile; of a request its path (`PATH_NOT_ALLOWED`) or the origin that it was for (`FOREIGN_ORIGIN`). */
  readonly path: string;
}

/** A pool of connections came, was replaced, or went. */
export interface PoolChanged {
  readonly provider: string;
  readonly origin: string;
  readonly change: 'opened' | 'retired' | 'closed';
  readonly hasCertificate: boolean;
}

/** A request begins. A replay after a 401 belongs to its request; a retry of a generated client is a request of its own. */
export interface RequestStart {
  /** Joins a start and its end. */
  readonly requestId: number;
  readonly provider: string;
  readonly origin: string;
  readonly method: string;
  /** Without the query, which may hold anything. */
  readonly path: string;
}

/** A request has ended, with its answer read, or not. */
export interface RequestEnd extends RequestStart {
  /** Absent where there was no answer. */
  readonly statusCode?: number;
  /** Of the error that ended it. */
  readonly code?: string;
  /** Milliseconds until the answer began. */
  readonly answerMs?: number;
  /** Milliseconds until it ended: hours for a watch. */
  readonly durationMs: number;
  /** A watch, a followed log and the like. */
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

/** Takes the events that it has a function for. */
export type Observer = { readonly [K in keyof Events]?: (event: Events[K]) => void };

const channels = {
  'plugin-run-start': channel('clusterprofile-credentials:plugin-run-start'),
  'plugin-run-end': channel('clusterprofile-credentials:plugin-run-end'),
  credential: channel('clusterprofile-credentials:credential'),
  rejection: channel('clusterprofile-credentials:rejection'),
  'access-refused': channel('clusterprofile-credentials:access-refused'),
  pool: channel('clusterprofile-credentials:pool'),
  'request-start': channel('clusterprofile-credentials:request-start'),
  'request-end': channel('clusterprofile-credentials:request-end'),
} as const;

/** Whether anybody wants to be told: a request should cost nothing for nobody. */
export function isObserved(observer: Observer | undefined, name: keyof Events): boolean {
  return observer?.[name] !== undefined || channels[name].hasSubscribers;
}

/** Tells everybody. One who throws, or rejects, is passed over. */
export function emit<K extends keyof Events>(observer: Observer | undefined, name: K, event: Events[K]): void {
  emitTo(channels[name], name, observer?.[name], event);
}

/** Whether an error says that a profile broke a rule or a limit, and not that it is mistaken or unfinished. */
export function isRefusal(code: ProfileErrorCode): boolean {
  return code.endsWith('_NOT_ALLOWED') || code === 'SERVER_INSECURE' || code === 'PROFILE_TOO_LARGE';
}

/** The state that metrics have for an error. */
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
