import type { ResolvedCluster } from '../../access/cluster.ts';
import type { ImpersonationHeaders } from '../../access/impersonation.ts';
import type { Segments } from '../../access/path-bounds.ts';
import type { CredentialSource } from '../../exec/credential-source.ts';
import type { PluginCall } from '../../exec/plugin-call.ts';
import type { AuthorityFile } from './authority-file.ts';

/** What one connection needs to know: where to, and whose credential. */
export type Destination = DestinationParts & (PluginCredential | OwnCredential);

/** A plugin's credential, which configs with equal calls share. */
interface PluginCredential {
  readonly call: PluginCall;
  readonly source?: undefined;
}

/** Of a kubeconfig or a service account: a credential that needs no plugin, this config's alone. */
interface OwnCredential {
  readonly call?: undefined;
  readonly source: CredentialSource;
}

interface DestinationParts {
  /** For errors: `ClusterProfile fleet/spoke-1`, or `kubeconfig context staging`. */
  readonly name: string;
  /** `namespace/name` of the ClusterProfile, where there is one. */
  readonly profile?: string;
  readonly cluster: ResolvedCluster;
  /** Of a kubeconfig: where the cluster's authority comes from. */
  readonly authorityFile?: AuthorityFile | undefined;
  /** The access type, for messages and metrics. */
  readonly provider: string;
  /** Of a kubeconfig: the proxy with its login. */
  readonly proxyUrl?: string;
  /** The paths that `allowedServers` binds all requests to. */
  readonly pathBounds?: readonly Segments[] | undefined;
  /** Whether the provider that this was resolved with is still the one that is configured. */
  readonly isCurrent?: () => boolean;
  readonly impersonation?: ImpersonationHeaders;
}
