/** What a connection knows of where its credential comes from: a plugin, or a kubeconfig that holds one. */
import type { ClusterOfError } from '../errors.ts';
import type { Trouble } from '../troubles.ts';
import type { Credential, ExecResponse } from './exec-credential.ts';
import type { Rejections } from './rejections.ts';

/** What is wrong with a credential that serves all the same. */
export interface SupplyTrouble extends Trouble {
  readonly kind: 'refresh' | 'clock' | 'left out';
}

/** The cluster for which a credential is asked for: the log names it. */
export interface Asker {
  readonly cluster: ClusterOfError;
  /** A refresh that this asker's request has started brought nothing. */
  refreshFailed(trouble: SupplyTrouble): void;
}

/** Where requests get their credential: from a plugin, or from a kubeconfig. */
export interface CredentialSupply {
  get(asker?: Asker): Credential | Promise<Credential>;
  afterRejection(
    rejected: Credential,
    rejections: Rejections,
    response?: ExecResponse,
    asker?: Asker,
  ): Promise<Credential | undefined>;
  /** Of the credential that it gives now: every cluster that uses it is told. */
  readonly troubles: readonly SupplyTrouble[];
  /** Texts that a server may say back, and that must never be printed. */
  readonly secrets: readonly string[];
  /** For people: whether there is a credential, and until when. */
  readonly state: string;
  invalidate(): void;
}

/** The troubles of a supply that has none. */
export const noTroubles: readonly SupplyTrouble[] = Object.freeze([]);
