/** Where a connection gets its credential from: a plugin, or a kubeconfig that holds one. */
import type { ClusterOfError } from '../errors/index.ts';
import type { Warning } from '../observability/warning-limiter.ts';
import type { Credential } from './credential.ts';
import type { ExecResponse } from './exec-credential.ts';
import type { Rejections } from './rejections.ts';

/** A problem with a credential that is used all the same. */
export interface SourceWarning extends Warning {
  readonly kind: 'refresh' | 'clock';
}

/** The cluster that a credential is for: the log names it. */
export interface Asker {
  readonly cluster: ClusterOfError;
  /** A refresh that this asker's request started has failed. */
  refreshFailed(warning: SourceWarning): void;
}

export interface CredentialSource {
  /** Returns the credential at once if there is one. */
  get(asker?: Asker): Credential | Promise<Credential>;
  /** After a 401: resolves to the credential to replay the request with, or to `undefined` if there is no better one. Never rejects. */
  afterRejection(
    rejected: Credential,
    rejections: Rejections,
    response?: ExecResponse,
    asker?: Asker,
  ): Promise<Credential | undefined>;
  /** Of the current credential. They are logged for every cluster that uses it. */
  readonly warnings: readonly SourceWarning[];
  /** Texts that a server may repeat, and that must never be printed. */
  readonly secrets: readonly string[];
  /** In words: whether there is a credential, and until when. */
  readonly state: string;
  /** Forgets the credential. */
  invalidate(): void;
}

/** Shared, since nearly every credential has none. */
export const noWarnings: readonly SourceWarning[] = Object.freeze([]);
